"""Writing to a packed file: changes gather in a folder beside it, then a new file replaces it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tychora_format.cache import Cache
from tychora_format.packed.archive import write_archive
from tychora_format.packed.exclusive import changes_of, writing
from tychora_format.packed.members import members_of
from tychora_format.store.overlay import OverlayStore
from tychora_format.store.packed import PackedStore
from tychora_format.workspace import Workspace

__all__ = ["rewriting"]


@contextmanager
def rewriting(path: str | Path, *, cache: Cache | None = None) -> Iterator[Workspace]:
    """The workspace in the packed file `path`, for writing within the block; it is of no use afterwards.

    At the end of the block the packed file is replaced by one with all changes, at once; if nothing changed it stays.
    An error or a kill leaves the old file as it was. For the whole time nobody else can write to it: they get Busy at
    once. Readers go on reading the file that they opened.
    """
    target = Path(os.path.realpath(Path(path).expanduser()))
    with writing(target):
        changes = changes_of(target)
        below = PackedStore(path)
        try:
            overlay = OverlayStore(below, changes)
            workspace = Workspace.open(overlay, cache=cache)
            yield workspace
            if overlay.changed:
                write_archive(target, members_of(workspace))
        finally:
            below.close()
            shutil.rmtree(changes, ignore_errors=True)
