"""Context: what helps to read a segment but is not part of its text."""

from __future__ import annotations

from tychora_functions.query.drafts import Draft, attributes

__all__ = ["context_of"]


def context_of(draft: Draft, text: str) -> str:
    """A table's header row, an enclosing definition's signature, a revision's state; "" where the text says it all."""
    lines: list[str] = []
    for chunk in draft.chunks:
        for position in range(len(chunk.units)):
            known = attributes(chunk, position)
            for name in ("header", "signature"):
                value = str(known.get(name, "")).strip()
                if value and value not in text and value not in lines:
                    lines.append(value)
            if note := _state(known):
                lines += [note] if note not in lines else []
    return "\n".join(lines)


def _state(known: dict[str, str]) -> str:
    if "revision" in known:
        parts = (known["revision"], known.get("date", "")[:10], known.get("author", ""))
        return " ".join(part for part in parts if part)
    return "hidden text" if "hidden" in known else ""
