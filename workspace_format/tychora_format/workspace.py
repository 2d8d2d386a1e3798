"""A workspace: the bundle at one location, as the functions hold it."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from weakref import WeakSet

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tychora_format.cache import Cache, cache_directory
from tychora_format.history import Revisited, ancestors, lineage
from tychora_format.log import Head, Log, Proposal
from tychora_format.manifest import FORMAT_VERSION, BatchEntry, Incomplete, Manifest, check_version, snapshot_path
from tychora_format.objects import Objects
from tychora_format.references import resolve
from tychora_format.sealed import seal, unseal
from tychora_format.snapshot import Snapshot
from tychora_format.staging import Collected
from tychora_format.statements import Statements
from tychora_format.store import Store, checked_path, open_store, proves_put_if_absent
from tychora_format.tags import Tags
from tychora_schemas.errors import (
    Conflict,
    CorruptWorkspace,
    InvalidRequest,
    NotFound,
    TychoraError,
    UnsupportedContent,
)
from tychora_schemas.identity import content_sha256

__all__ = ["MARKER", "Marker", "Workspace", "collected_path", "utc_now"]

MARKER = "tychora.json"

OPEN_SNAPSHOTS = 8
"""Snapshots that one workspace keeps open: the head and what a few questions about the past need."""


def utc_now() -> str:
    """The moment in UTC, to the millisecond, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Marker(BaseModel):
    """`tychora.json`: what makes a folder a bundle. Written once; only an upgrade replaces it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str = Field("tychora-workspace", pattern=r"^tychora-workspace$")
    format: int
    features: tuple[str, ...] = ()
    workspace_id: str = Field(pattern=r"^workspace_[0-9a-f]{32}$")
    profile: str = "documents"
    settings: dict[str, Any] = Field(default_factory=dict)


class Workspace:
    """One bundle, opened. Reading never locks; writing goes through the commit log alone."""

    def __init__(self, store: Store, marker: Marker, cache: Cache) -> None:
        self.store = store
        self.marker = marker
        self.cache = cache
        self.log = Log(store)
        self.statements = Statements(store)
        self.objects = Objects(store)
        self.tags = Tags(store)
        self._open: dict[str, Snapshot] = {}
        self._opening = threading.RLock()
        self.passed_over: TychoraError | None = None
        """Why the newest commit was not the one that `head` returned last; None where it was."""
        self._seen_complete: WeakSet[Snapshot] = WeakSet()

    @classmethod
    def create(
        cls,
        url: str | Path | Store,
        *,
        profile: str = "documents",
        settings: Mapping[str, Any] | None = None,
        cache: Cache | None = None,
    ) -> Workspace:
        """Make an empty bundle at `url`.

        Raises Conflict when there is one already, InvalidRequest when the folder holds something else, and
        UnsupportedContent when the store does not honour put-if-absent, without which writers would overwrite each
        other.
        """
        store = url if isinstance(url, Store) else open_store(str(url))
        first = next(iter(store.list("")), None)
        if store.size(MARKER) is not None:
            raise Conflict(
                f"{_spoken(store)} is a workspace already", next_step="use it as it is, or choose another place"
            )
        if first is not None:
            raise InvalidRequest(
                f"{_spoken(store)} is not empty: it holds {first.path}",
                next_step="choose a new or an empty folder",
            )
        if not proves_put_if_absent(store):
            raise UnsupportedContent(
                f"{_spoken(store)} does not honour put-if-absent: two writers could overwrite each other's commits",
                next_step="use a store that does (a local directory, S3), or keep the bundle on a local disk",
            )
        marker = Marker(
            format=FORMAT_VERSION,
            workspace_id=f"workspace_{secrets.token_hex(16)}",
            profile=profile,
            settings=dict(settings or {}),
        )
        if not store.create(MARKER, seal(marker.model_dump(mode="json"))):
            raise Conflict(f"{_spoken(store)} became a workspace just now", next_step="use it as it is")
        return cls(store, marker, cache or Cache(cache_directory()))

    @classmethod
    def open(cls, url: str | Path | Store, *, cache: Cache | None = None) -> Workspace:
        """Open the bundle at `url`. Raises NotFound, CorruptWorkspace or UnsupportedContent (a newer format)."""
        store = url if isinstance(url, Store) else open_store(str(url))
        try:
            data = store.read(MARKER)
        except NotFound as error:
            if next(iter(store.list("log/")), None) is not None:
                raise CorruptWorkspace(
                    f"{MARKER} is missing from {_spoken(store)}, which holds a workspace otherwise",
                    next_step=f"restore {MARKER} from a backup or from another copy of the bundle",
                ) from error
            raise NotFound(
                f"{_spoken(store)} is no workspace: it has no {MARKER}",
                next_step=f"create one: tychora init {_spoken(store)}",
            ) from error
        try:
            raw = unseal(data, MARKER)
            check_version(raw, MARKER)
            marker = Marker.model_validate(raw)
        except (ValueError, ValidationError) as error:
            raise CorruptWorkspace(
                f"{MARKER} is damaged: {str(error).splitlines()[0]}", next_step="restore it from another copy"
            ) from error
        return cls(store, marker, cache or Cache(cache_directory()))

    def manifest(self, snapshot_id: str) -> Manifest:
        """The manifest of a snapshot. Raises Incomplete where it is missing, NotFound where a collection removed it."""
        try:
            return Manifest.decode(self.store.read(snapshot_path(snapshot_id)), snapshot_id)
        except NotFound as error:
            if snapshot_path(snapshot_id) in self.collected():
                raise NotFound(
                    f"snapshot {snapshot_id[:12]}… was removed by a collection",
                    next_step="ask a copy that still has it, or another snapshot (tychora inspect WORKSPACE log)",
                ) from error
            raise Incomplete(
                f"{snapshot_path(snapshot_id)} is missing, though the log or a child names it",
                next_step="restore the file from another copy of the bundle",
            ) from error

    def snapshot(self, snapshot_id: str) -> Snapshot:
        """The snapshot of this id under the statements in force now; opened once, then shared."""
        statements = self.statements.in_force()
        with self._opening:
            known = self._open.get(snapshot_id)
            if known is None or known.statements is not statements:
                manifest = self.manifest(snapshot_id) if known is None else known.manifest
                opened = {batch.id: batch for each in list(self._open.values()) for batch in each.batches}
                self._open.pop(snapshot_id, None)
                while len(self._open) >= OPEN_SNAPSHOTS:
                    self._open.pop(next(iter(self._open)))
                known = Snapshot(snapshot_id, manifest, self.store, self.cache, opened, statements)
                self._open[snapshot_id] = known
            return known

    def head(self) -> Snapshot:
        """The newest snapshot whose files are all here; the empty one before the first commit.

        Readers go by it: while a plain file syncer copies a bundle, its newest commits may be here before their files,
        and are passed over. Raises CorruptWorkspace when no commit is complete. Writers go by `log.head()`.
        """
        self.passed_over = None
        try:
            return self._complete(self.log.head().snapshot)
        except (Incomplete, NotFound) as error:
            for entry in self.log.standing():
                with suppress(Incomplete):
                    complete = self._complete(entry.snapshot)
                    self.passed_over = error
                    return complete
            raise error

    def _complete(self, snapshot_id: str | None) -> Snapshot:
        """The snapshot, whose batches' files are all here. Raises Incomplete.

        Only a directory of this machine is looked through, once per snapshot: elsewhere each file would take a request,
        and is found to be missing when it is needed.
        """
        if snapshot_id is None:
            return self.empty()
        snapshot = self.snapshot(snapshot_id)
        if snapshot not in self._seen_complete and self.store.local_path(MARKER) is not None:
            for file in (file for batch in snapshot.batches for file in batch.entry.files):
                if self.store.size(file.path) is None:
                    raise Incomplete(
                        f"{file.path} is missing, though snapshot {snapshot_id[:12]}… names it",
                        next_step="run tychora verify, then restore the file or sync from another copy",
                    )
            self._seen_complete.add(snapshot)
        return snapshot

    def at_head(self, head: Head) -> Snapshot:
        """The snapshot that a log entry names."""
        return self.snapshot(head.snapshot) if head.snapshot else self.empty()

    def empty(self) -> Snapshot:
        """The state before the first commit."""
        nothing = Manifest(format=self.format, parents=(), time=utc_now(), content_root="0" * 64, batches=())
        return Snapshot("", nothing, self.store, self.cache)

    @property
    def format(self) -> int:
        """The format version that everything written here keeps to."""
        return self.marker.format

    def ancestors(self, snapshot_id: str) -> dict[str, Manifest]:
        """See `history.ancestors`."""
        return ancestors(self.manifest, self.snapshot_ids(), snapshot_id)

    def lineage(self) -> list[Revisited]:
        """See `history.lineage`."""
        return lineage(self.manifest, self.snapshot_ids(), self.log.history())

    def snapshot_ids(self) -> set[str]:
        """Every snapshot whose manifest is here: a short copy and a collection leave old ones out."""
        found = (re.fullmatch(r"snapshots/([0-9a-f]{64})\.json", file.path) for file in self.store.list("snapshots/"))
        return {match.group(1) for match in found if match}

    def collected(self) -> frozenset[str]:
        """Every file that collections of this location have removed or listed: what may be missing from its past."""
        lists = {entry.collecting for entry in self.log.standing() if entry.collecting}
        return frozenset().union(*map(self.doomed, sorted(lists)))

    def doomed(self, digest: str | None) -> frozenset[str]:
        """The files that the collection with this list removes; none where there is no collection.

        Raises CorruptWorkspace when the list is not the one that the log names.
        """
        if digest is None:
            return frozenset()
        path = collected_path(digest)
        try:
            data = self.store.read(path)
        except NotFound as error:
            raise CorruptWorkspace(
                f"{path} is missing, though the log says that a collection removes what it lists",
                next_step="sync the workspace into a new place",
            ) from error
        if content_sha256(data) != digest:
            raise CorruptWorkspace(
                f"{path} is damaged: its bytes do not match its name",
                next_step="sync the workspace into a new place",
            )
        paths = unseal(data, path).get("paths")
        try:
            if not isinstance(paths, list):
                raise TypeError
            return frozenset(map(checked_path, paths))
        except (TypeError, InvalidRequest) as error:
            raise CorruptWorkspace(
                f"{path} lists what is no file", next_step="sync the workspace into a new place"
            ) from error

    def put_doomed(self, paths: Iterable[str]) -> str:
        """Store the list of files that a collection is about to remove, and return its digest."""
        data = seal({"paths": sorted(paths)})
        digest = content_sha256(data)
        self.store.write(collected_path(digest), data)
        return digest

    def put_manifest(self, manifest: Manifest) -> str:
        """Store a manifest and return its snapshot id. It becomes visible when a log entry names it."""
        data = manifest.encode()
        snapshot_id = content_sha256(data)
        self.store.write(snapshot_path(snapshot_id), data)
        return snapshot_id

    def resolve(self, reference: str) -> Snapshot:
        """The snapshot that a reference names, see `references.resolve`. Raises NotFound saying what there is."""
        found = resolve(self, reference)
        return self.snapshot(found) if found else self.empty()

    def commit(self, build: Callable[[Snapshot], Manifest | None], *, now: Callable[[], str] = utc_now) -> Snapshot:
        """Put a manifest on top of the newest snapshot.

        `build(head)` makes the manifest that continues `head`, or None when nothing is left to do; it is called again
        for each rival that commits first. Returns the snapshot that is then the head.
        """

        def propose(head: Head) -> Proposal | None:
            manifest = build(self.at_head(head))
            return None if manifest is None else Proposal(self.put_manifest(manifest))

        return self.commit_snapshot(propose, now=now)

    def commit_snapshot(
        self, build: Callable[[Head], Proposal | None], *, now: Callable[[], str] = utc_now
    ) -> Snapshot:
        """As `commit`, for who has the manifest stored already. Raises Collected where a collection is removing it."""

        def kept(head: Head) -> Proposal | None:
            proposal = build(head)
            if proposal and snapshot_path(proposal.snapshot) in self.doomed(head.collecting):
                raise Collected(
                    f"a collection removes snapshot {proposal.snapshot[:12]}…", next_step="run the same command again"
                )
            return proposal

        return self.at_head(self.log.commit(kept, write_id=secrets.token_hex(16), now=now))

    def scratch(self) -> Path:
        """A local folder for temporary files, on the bundle's own disk where it has one. Nothing in it is durable."""
        local = self.store.local_path("staging")
        folder = local if local is not None else self.cache.directory / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def put_batch(self, directory: Path, entry: BatchEntry) -> None:
        """Upload the files of a batch that was written below `directory`; all are durable when this returns."""
        prefix = f"batches/{entry.id}/"
        self.store.write_many([(file.path, directory / file.path.removeprefix(prefix)) for file in entry.files])
        for file in entry.files:
            local = self.store.local_path(file.path)
            if local is not None:
                self.cache.remember(local, file.sha256)


def collected_path(digest: str) -> str:
    """Where the list of what a collection removed lies."""
    return f"log/collected/{digest}.json"


def _spoken(store: Store) -> str:
    """A store's place as people write it: a path, or a URL where it is not on this machine."""
    local = store.local_path(MARKER)
    return store.url if local is None else str(local.parent)
