"""References: from `main~2`, a tag, a date or the start of a hash to the snapshot that is meant."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from tychora_schemas.errors import InvalidRequest, NotFound

if TYPE_CHECKING:
    from tychora_format.workspace import Workspace

__all__ = ["resolve"]


def resolve(workspace: Workspace, reference: str) -> str:
    """The id of the snapshot that `reference` names; empty for the state before the first commit.

    `main`, `main~N`, a tag, a date or moment, or the first digits of a snapshot's id, at least 6; tried in this order.
    A date means the last state before its end in UTC. Raises NotFound saying what there is.
    """
    for read in (_relative, _tagged, _dated, _by_hash):
        found = read(workspace, reference.strip())
        if found is not None:
            return found
    raise NotFound(
        f"no snapshot answers to {reference!r}",
        next_step="tychora inspect WORKSPACE log lists what there is; known forms: main, main~2, 2026-05-01, "
        "a tag, the first digits of a snapshot's hash",
    )


def _relative(workspace: Workspace, reference: str) -> str | None:
    match = re.fullmatch(r"main(?:~(\d{1,9}))?", reference)
    if not match:
        return None
    steps = int(match.group(1) or 0)
    if steps == 0:
        return workspace.head().id
    states = workspace.lineage()
    if steps < len(states):
        return states[steps].snapshot
    if steps == len(states):
        return ""
    raise NotFound(
        f"{reference} goes back further than the history here, which begins at main~{max(0, len(states) - 1)}",
        next_step="tychora inspect WORKSPACE log lists them",
    )


def _tagged(workspace: Workspace, reference: str) -> str | None:
    return workspace.tags.get(reference)


def _dated(workspace: Workspace, reference: str) -> str | None:
    try:
        moment = _in_zone(datetime.fromisoformat(reference))
    except ValueError:
        return None
    if re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", reference):
        moment += timedelta(days=1)
    for state in workspace.lineage():
        if _in_zone(datetime.fromisoformat(state.time)) < moment:
            return state.snapshot
    raise NotFound(
        f"nothing was committed here before {moment.isoformat()}",
        next_step="tychora inspect WORKSPACE log",
    )


def _by_hash(workspace: Workspace, reference: str) -> str | None:
    prefix = reference.removeprefix("snapshot_").lower()
    if not re.fullmatch(r"[0-9a-f]{6,64}", prefix):
        return None
    found = {each for each in workspace.snapshot_ids() if each.startswith(prefix)}
    if len(found) > 1:
        raise InvalidRequest(f"{reference} is the prefix of {len(found)} snapshots", next_step="give more digits")
    return next(iter(found), None)


def _in_zone(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
