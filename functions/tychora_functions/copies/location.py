"""Locations that a sync goes between: a directory, a prefix of an object store, a packed file `NAME.tychora`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tychora_format.cache import Cache
from tychora_format.packed.pack import SUFFIX
from tychora_format.packed.rewriting import rewriting
from tychora_format.store import MemoryStore, Store, open_store, proves_put_if_absent
from tychora_format.store.packed import PackedStore
from tychora_format.workspace import MARKER, Workspace
from tychora_schemas.errors import InvalidRequest, UnsupportedContent

__all__ = ["Location", "empty_copy", "refuse_one_location", "require_destination", "require_empty"]

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class Location:
    """What somebody calls `name`: where a copy of a workspace is, or is to be."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.packed = _packed(name)
        """The packed file's real path, whether it exists or not; None for a place that holds many files."""
        # Of an object store this holds the connections: it is opened once.
        self._store = open_store(name) if self.packed is None else None
        self.url = self._store.url if self._store else str(self.packed)

    @property
    def exists(self) -> bool:
        """False for a packed file that is not there. Of other places only a request tells."""
        return self.packed is None or self.packed.exists()

    def store(self) -> Store:
        """What is there now, for reading. Raises NotFound for a packed file that is not there."""
        return self._store or PackedStore(self.url)

    @contextmanager
    def written(self, source: Workspace, cache: Cache) -> Iterator[tuple[Workspace, bool]]:
        """The copy of `source` there, for writing within the block, and whether it was made just now.

        A new one takes the marker of `source`: it is the same workspace. Raises InvalidRequest where the place holds
        something else, UnsupportedContent where it does not honour put-if-absent, and as `require_destination`.
        """
        if self.packed is not None:
            with rewriting(self.packed, cache=cache) as workspace:
                require_destination(source, workspace, self.name)
                yield workspace, False
            return
        store = self.store()
        created = store.size(MARKER) is None and _create(source, store, self.name)
        workspace = Workspace.open(store, cache=cache)
        require_destination(source, workspace, self.name)
        yield workspace, created


def _packed(name: str) -> Path | None:
    if SCHEME.match(name) or not name.rstrip("/").endswith(SUFFIX):
        return None
    path = Path(os.path.realpath(Path(name).expanduser()))
    return None if path.is_dir() else path


def _create(source: Workspace, store: Store, name: str) -> bool:
    require_empty(store, name)
    if not proves_put_if_absent(store):
        raise UnsupportedContent(
            f"{name} does not honour put-if-absent: two writers could overwrite each other's commits",
            next_step="use a store that does (a local directory, S3), or pack the workspace and copy the file",
        )
    return store.create(MARKER, source.store.read(MARKER))


def require_empty(store: Store, name: str) -> None:
    """Raise InvalidRequest where the place holds something."""
    # A writer that was killed before the marker was there leaves something below staging/.
    other = next((entry.path for entry in store.list("") if not entry.path.startswith("staging/")), None)
    if other is not None:
        raise InvalidRequest(
            f"{name} is no workspace and not empty: it holds {other}", next_step="choose a new or an empty place"
        )


def require_destination(source: Workspace, destination: Workspace, name: str) -> None:
    """Raise UnsupportedContent where the destination's format is older than the source's."""
    if source.format > destination.format:
        raise UnsupportedContent(
            f"{name} is of format {destination.format}, the source of format {source.format}",
            next_step=f"bring it up to date first: tychora manage {name} upgrade",
        )


def empty_copy(source: Workspace, cache: Cache) -> Workspace:
    """What a place that does not exist yet would be at first, without making it."""
    return Workspace(MemoryStore(), source.marker, cache)


def refuse_one_location(source: Store, destination: Location) -> None:
    """Raise InvalidRequest where the destination is the source, or lies in it."""
    here = source.path if isinstance(source, PackedStore) else source.local_path(MARKER)
    if here is None:
        one = f"{destination.url}/".startswith(f"{source.url.rstrip('/')}/")
    else:
        root = Path(os.path.realpath(here if isinstance(source, PackedStore) else here.parent))
        there = destination.packed or destination.store().local_path(MARKER)
        one = there is not None and there.is_relative_to(root)
    if one:
        raise InvalidRequest(
            f"the destination, {destination.name}, is the source or lies in it", next_step="choose another destination"
        )
