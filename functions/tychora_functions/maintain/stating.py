"""States something that a later statement may replace: withdrawals and policies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tychora_format.statements import Statement
from tychora_format.workspace import Workspace, utc_now

__all__ = ["standing", "state", "take_back"]

Kind = Literal["policy", "withdrawal"]


def standing(workspace: Workspace, kind: Kind, matter: Mapping[str, Any]) -> list[Statement]:
    """The statements about a matter that none replaces, oldest first; a matter is some members of their subjects."""
    about = [
        each
        for each in workspace.statements.all()
        if each.kind == kind and all(each.subject.get(name) == value for name, value in matter.items())
    ]
    replaced = {past for each in about for past in each.subject.get("replaces", ())}
    return sorted((each for each in about if each.id not in replaced), key=lambda each: (each.time, each.id))


def state(
    workspace: Workspace, kind: Kind, matter: Mapping[str, Any], said: Mapping[str, Any], reason: str = ""
) -> tuple[str, bool]:
    """Say something about a matter in place of whatever was said before; `reason` makes no difference by itself.

    Returns the id of the statement that now stands, and False where it stood already.
    """
    before = standing(workspace, kind, matter)
    if before and all(each.subject.get(name) == value for each in before for name, value in said.items()):
        return before[0].id, False
    subject = {**matter, **said, "reason": reason, "replaces": [each.id for each in before]}
    statement = Statement.make(kind, subject, utc_now())
    workspace.statements.add(statement)
    return statement.id, True


def take_back(
    workspace: Workspace, kind: Kind, matter: Mapping[str, Any], said: Mapping[str, Any], reason: str = ""
) -> tuple[str, bool]:
    """As `state`, for what undoes something: where nothing was ever said there is no statement, and its id is empty."""
    return state(workspace, kind, matter, said, reason) if standing(workspace, kind, matter) else ("", False)
