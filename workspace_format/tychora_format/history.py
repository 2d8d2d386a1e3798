"""History: a graph, as every snapshot names its parents by hash; a location's log walks through it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tychora_format.log import LogEntry
from tychora_format.manifest import Incomplete, Manifest
from tychora_schemas.errors import NotFound

__all__ = ["Revisited", "ancestors", "lineage"]


@dataclass(frozen=True, slots=True)
class Revisited:
    """A state of the past: when it was committed here (elsewhere where `number` is None), and its snapshot."""

    time: str
    snapshot: str
    number: int | None


def ancestors(
    read: Callable[[str], Manifest], present: Collection[str], snapshot_id: str, known: Collection[str] = ()
) -> dict[str, Manifest]:
    """The manifests of a snapshot and of its ancestors, nearest first, as far as they are `present`.

    A copy may hold only the newest part of a history, and a collection may have removed old snapshots: such parents are
    left out. So is what lies behind the snapshots `known`.
    """
    found: dict[str, Manifest] = {}
    waiting = deque([snapshot_id])
    while waiting:
        each = waiting.popleft()
        if each not in found and each not in known and each in present:
            with suppress(Incomplete, NotFound):  # a collection may have removed it after the listing
                found[each] = read(each)
                waiting.extend(found[each].parents)
    return found


def lineage(read: Callable[[str], Manifest], present: Collection[str], log: Sequence[LogEntry]) -> list[Revisited]:
    """Every state that a location can go back to, newest first; `log` are its valid entries, newest first.

    What was committed here comes by the log. Where a commit brought history from elsewhere (a sync, a merge), the
    ancestors that the commits before it did not have follow it, the later first.
    """
    states: list[Revisited] = []
    known: set[str] = set()
    for entry in reversed(log):
        if states and states[-1].snapshot == entry.snapshot:
            continue  # a collection's entries say again what there is
        brought = ancestors(read, present, entry.snapshot, known)
        older = sorted((manifest.when, each) for each, manifest in brought.items() if each != entry.snapshot)
        states += [Revisited(brought[each].time, each, None) for _, each in older]
        if entry.snapshot in brought or entry.snapshot in known:
            states.append(Revisited(entry.time, entry.snapshot, entry.number))
        known |= brought.keys()
    return states[::-1]
