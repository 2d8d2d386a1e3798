"""Withdraws sources, revisions and originals, and restores them: hidden at once everywhere, and reversible."""

from __future__ import annotations

from tychora_format.versions import require_format
from tychora_format.workspace import Workspace
from tychora_functions.maintain.stating import state, take_back
from tychora_functions.maintain.targets import Target, live_of, paths_of, resolve_target
from tychora_schemas.errors import NotFound
from tychora_schemas.maintenance import StatementReport

__all__ = ["restore", "withdraw"]


def withdraw(workspace: Workspace, target: str, reason: str = "") -> StatementReport:
    """Hide what `target` names from everybody, in every snapshot, until it is restored. Nothing is removed.

    Withdrawing a source hides all its revisions, withdrawing an original every source that has it, now or later. The
    report's `sources` are the live ones. Raises NotFound, also for what is erased, and InvalidRequest where the target
    is not unique; see `targets.resolve_target`.
    """
    require_format(workspace, 2, "withdrawals")
    found = _present(workspace, target)
    statement_id, made = state(workspace, "withdrawal", {"target": found.id}, {"withdrawn": True}, reason)
    return StatementReport(
        statement_id=statement_id,
        kind="withdrawal",
        target=found.id,
        sources=paths_of(live_of(workspace, found)),
        made=made,
    )


def restore(workspace: Workspace, target: str) -> StatementReport:
    """Take the withdrawal of what `target` names back.

    What is withdrawn under another name (a revision of a withdrawn source) stays hidden: the report's `sources` are
    those that are visible now. Raises as `withdraw` does.
    """
    require_format(workspace, 2, "withdrawals")
    found = _present(workspace, target)
    statement_id, made = take_back(workspace, "withdrawal", {"target": found.id}, {"withdrawn": False})
    visible = paths_of(workspace.head().live_sources(found.concerns))
    return StatementReport(statement_id=statement_id, kind="restoration", target=found.id, sources=visible, made=made)


def _present(workspace: Workspace, target: str) -> Target:
    found = resolve_target(workspace, target)
    statements = workspace.statements.in_force()
    if found.id in statements.erased or (found.rows and all(map(statements.erases, found.rows))):
        raise NotFound(f"{found.id} was erased here", next_step="an erasure is final: nothing is left to show or hide")
    return found
