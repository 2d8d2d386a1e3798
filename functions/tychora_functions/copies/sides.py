"""The two sides of a sync: what each location holds, and where its history leads."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from tychora_format.manifest import Manifest
from tychora_format.store import Store
from tychora_format.transfer import is_local
from tychora_format.workspace import Workspace

__all__ = ["Side", "reached"]


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One of both locations: the snapshots that it holds, by id with their manifest's size, and its names for some."""

    workspace: Workspace
    snapshots: dict[str, int]
    head: str
    tags: dict[str, str]

    @classmethod
    def of(cls, workspace: Workspace) -> Side:
        """How a location is now. Raises CorruptWorkspace where the manifest of its newest snapshot is missing."""
        # Names first: what is committed after the listing is left for the next time.
        head, tags = workspace.log.head().snapshot or "", workspace.tags.all()
        sizes = {Path(entry.path).stem: entry.size for entry in workspace.store.list("snapshots/")}
        if head and head not in sizes:
            workspace.manifest(head)
        return cls(workspace, sizes, head, tags)

    @property
    def store(self) -> Store:
        """Where it is."""
        return self.workspace.store

    @property
    def near(self) -> bool:
        """Whether it is a directory of this machine."""
        return is_local(self.store)


def reached(
    read: Mapping[str, Future[Manifest]], roots: Iterable[str], present_here: Mapping[str, int]
) -> dict[str, Manifest]:
    """The manifests that the roots lead to, as far as they are at that place."""
    found: dict[str, Manifest] = {}
    waiting = deque(roots)
    while waiting:
        each = waiting.popleft()
        if each in present_here and each not in found:
            found[each] = read[each].result()
            waiting.extend(found[each].parents)
    return found
