"""What is withdrawn, erased and ruled, for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tychora_client.render.ansi import Style
from tychora_client.render.sizes import count
from tychora_client.render.tables import table
from tychora_schemas.receipts import StatementEntry

__all__ = ["about", "rule_of", "statements"]


def statements(entries: Sequence[StatementEntry], style: Style) -> str:
    """The statements in force, oldest first."""
    if not entries:
        return "no statement is in force\n"
    rows = [(each.time[:19], _said(each), about(each.subject), each.id[:26], _reason(each)) for each in entries]
    return table(("time (UTC)", "says", "about", "statement", "reason"), rows, style) + "\n"


def _said(entry: StatementEntry) -> str:
    return (
        rule_of(entry.subject)
        if entry.kind == "policy"
        else {"withdrawal": "withdrawn", "erasure": "erased"}[entry.kind]
    )


def _reason(entry: StatementEntry) -> str:
    return str(entry.subject.get("reason") or "")


def about(subject: Mapping[str, Any]) -> str:
    """What a statement is about: a collection or an id; of several ids the first."""
    named = [subject.get(name) for name in ("collection", "source", "target")]
    named += [each for kind in ("sources", "revisions", "contents") for each in subject.get(kind, ())]
    first, *rest = [str(each) for each in named if each] or [""]
    return first + (f" and {len(rest):,} more" if rest else "")


def rule_of(subject: Mapping[str, Any]) -> str:
    """The rule of a policy in words; "… lifted" where it was taken back."""
    match subject:
        case {"rule": "retention", "days": int(days)}:
            return f"retain {count(days, 'day')}"
        case {"rule": "classification", "classification": str(name)}:
            return f"classification {name}"
        case {"rule": "access", "effect": str(effect), "principal": str(principal)}:
            return f"{effect} {principal}"
        case {"rule": rule, "principal": str(principal)}:
            return f"{rule} of {principal} lifted"
        case {"rule": rule}:
            return f"{rule} lifted"
        case _:
            return "policy"
