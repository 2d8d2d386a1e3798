"""A result as Markdown, for notes and reports."""

from __future__ import annotations

import re

from tychora_client.render.places import place
from tychora_client.render.safe import safe, safe_line
from tychora_schemas.result import QueryResult, Segment

__all__ = ["cited_places", "fence_for", "markdown", "missing", "verdict_line"]

SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")
VERDICTS = {
    "sufficient": "The evidence covers the question.",
    "partial": "The evidence covers a part of the question.",
    "none": "No evidence was found.",
}


def markdown(result: QueryResult, question: str = "") -> str:
    """Each segment under a heading with its source and places, its text in a fence that it cannot close."""
    parts = [f"# {_escaped(question.strip()) or 'Evidence'}", verdict_line(result)]
    for number, segment in enumerate(result.segments, start=1):
        places = "; ".join(cited_places(result, segment))
        parts.append(f"## {number}. {_escaped(segment.source.title)}")
        parts.append(" — ".join(part for part in (f"**{_escaped(segment.source.path)}**", _escaped(places)) if part))
        if segment.also_at:
            parts.append("Also at: " + ", ".join(_escaped(path) for path in segment.also_at))
        if segment.heading_path:
            parts.append(" › ".join(_escaped(heading) for heading in segment.heading_path))
        shown = "\n".join(text for text in (safe(segment.context), safe(segment.text)) if text)
        fence = fence_for(shown)
        parts.append(f"{fence}text\n{shown}\n{fence}")
    for title, lines in (("Missing", missing(result)), ("Warnings", list(result.warnings))):
        if lines:
            parts.append(f"## {title}")
            parts.append("\n".join(f"- {_escaped(line)}" for line in lines))
    parts.append(f"Snapshot `{result.snapshot_id[:16]}`, run `{result.run_id}`")
    return "\n\n".join(parts) + "\n"


def verdict_line(result: QueryResult) -> str:
    """The coverage verdict as a sentence."""
    return VERDICTS[result.coverage.verdict]


def missing(result: QueryResult) -> list[str]:
    """What of the question the evidence lacks: in the result's own words, or else the terms that it does not hold."""
    if result.coverage_gaps or result.coverage.verdict == "sufficient":
        return list(result.coverage_gaps)
    named = {**result.coverage.terms, **result.coverage.identifiers}
    absent = [name for name, covered in named.items() if not covered]
    return [f"not found: {', '.join(absent)}"] if absent else []


def cited_places(result: QueryResult, segment: Segment) -> list[str]:
    """The distinct places of a segment's citations, in order."""
    known = {citation.id: citation for citation in result.citations}
    places = (place(known[each].locator) for each in segment.citations if each in known)
    return [each for each in dict.fromkeys(places) if each]


def fence_for(text: str) -> str:
    """A run of backticks longer than any in `text`, which therefore cannot close it."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def _escaped(text: str) -> str:
    return SPECIAL.sub(r"\\\1", safe_line(text))
