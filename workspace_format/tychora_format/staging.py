"""What a writer has staged and not committed yet, and whether a collection has taken it away meanwhile.

A file that no snapshot reaches is nobody's: a collection may remove it. So a writer looks again before it commits on
top of a head that knows of a collection which the writer's beginning did not. SPEC.md section 7 has the argument.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Container, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tychora_format.log import Head
from tychora_format.manifest import BatchEntry
from tychora_format.store.failures import typed_failures
from tychora_schemas.errors import Conflict

if TYPE_CHECKING:
    from tychora_format.workspace import Workspace

__all__ = ["Collected", "Staged", "stage_batch"]


class Collected(Conflict):
    """A collection has removed what was staged for a commit: stage it again on top of the new head."""


class Staged:
    """Made before the first file is staged."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        head = workspace.log.head()
        self.known = head.boundary, head.collecting

    def require(self, head: Head, files: Mapping[str, int]) -> None:
        """Make sure that a commit on top of `head` may count on `files` (path → size). Raises Collected."""
        doomed = self.workspace.doomed(head.collecting)
        gone = sorted(doomed.intersection(files))
        if not gone and (head.boundary, head.collecting) != self.known:
            gone = [path for path, size in files.items() if self.workspace.store.size(path) != size]
        if gone:
            raise Collected(
                f"a collection removes or has removed {gone[0]}"
                + (f" and {len(gone) - 1} more files" if len(gone) > 1 else "")
                + ", which this commit counts on",
                next_step="run the same command again; if that repeats itself, a collection was interrupted: finish it "
                "with tychora manage WORKSPACE collect",
            )


def stage_batch(
    workspace: Workspace, taken: Container[int], build: Callable[[Path, int], BatchEntry | None]
) -> BatchEntry | None:
    """Write a batch and upload its files; returns its entry, or None where `build` has nothing to write.

    `build(directory, salt)` writes below an empty folder; it is called again with another salt while the tag of what it
    has written is `taken`. The folder is removed whatever happens.
    """
    salt = 0
    while True:
        with typed_failures(f"build a batch for {workspace.store.url}"):
            directory = Path(tempfile.mkdtemp(prefix="batch-", dir=workspace.scratch()))
        try:
            with typed_failures(f"build a batch for {workspace.store.url}"):
                entry = build(directory, salt)
            if entry is not None and entry.rows and entry.tag in taken:
                salt += 1
                continue
            if entry is not None:
                workspace.put_batch(directory, entry)
            return entry
        finally:
            shutil.rmtree(directory, ignore_errors=True)
