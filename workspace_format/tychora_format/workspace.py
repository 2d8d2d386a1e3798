"""A workspace: the bundle at one location, as the functions hold it."""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tychora_format.cache import Cache, cache_directory
from tychora_format.log import Head, Log
from tychora_format.manifest import FORMAT_VERSION, Manifest, check_version, snapshot_path
from tychora_format.objects import Objects
from tychora_format.sealed import seal, unseal
from tychora_format.snapshot import Snapshot
from tychora_format.statements import Statements
from tychora_format.store import Store, open_store, proves_put_if_absent
from tychora_schemas.errors import Conflict, CorruptWorkspace, InvalidRequest, NotFound, UnsupportedContent
from tychora_schemas.identity import content_sha256

__all__ = ["MARKER", "Marker", "Workspace", "utc_now"]

MARKER = "tychora.json"

OPEN_SNAPSHOTS = 8
"""Snapshots that one workspace keeps open: the head and what a few questions about the past need."""


def utc_now() -> str:
    """The moment in UTC, to the millisecond, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Marker(BaseModel):
    """`tychora.json`: what makes a folder a bundle. Written once."""

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
        self._open: dict[str, Snapshot] = {}
        self._opening = threading.Lock()

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
        """The manifest of a snapshot. Raises NotFound or CorruptWorkspace."""
        try:
            return Manifest.decode(self.store.read(snapshot_path(snapshot_id)), snapshot_id)
        except NotFound as error:
            raise CorruptWorkspace(
                f"{snapshot_path(snapshot_id)} is missing, though the log or a child names it",
                next_step="restore the file from another copy of the bundle",
            ) from error

    def snapshot(self, snapshot_id: str) -> Snapshot:
        """The snapshot of this id; opened once, then shared."""
        if snapshot_id not in self._open:
            while len(self._open) >= 8:
                self._open.pop(next(iter(self._open)))
            manifest = self.manifest(snapshot_id)
            opened = {batch.id: batch for each in list(self._open.values()) for batch in each.batches}
            self._open[snapshot_id] = Snapshot(snapshot_id, manifest, self.store, self.cache, opened)
        return self._open[snapshot_id]

    def head(self) -> Snapshot:
        """The newest snapshot; the empty one before the first commit."""
        return self.at_head(self.log.head())

    def at_head(self, head: Head) -> Snapshot:
        """The snapshot that a log entry names."""
        return self.snapshot(head.snapshot) if head.snapshot else self.empty()

    def empty(self) -> Snapshot:
        """The state before the first commit."""
        nothing = Manifest(format=FORMAT_VERSION, parents=(), time=utc_now(), content_root="0" * 64, batches=())
        return Snapshot("", nothing, self.store, self.cache)

    def put_manifest(self, manifest: Manifest) -> str:
        """Store a manifest and return its snapshot id. It becomes visible when a log entry names it."""
        data = manifest.encode()
        snapshot_id = content_sha256(data)
        self.store.write(snapshot_path(snapshot_id), data)
        return snapshot_id

    def resolve(self, reference: str) -> Snapshot:
        """`main`, `main~N`, a date or moment, a tag, or the prefix of a snapshot's hash (at least 6 digits).

        A date means the last commit before its end in UTC. Raises NotFound saying what there is.
        """
        for read in (self._relative, self._tagged, self._dated, self._by_hash):
            found = read(reference.strip())
            if found is not None:
                return self.snapshot(found) if found else self.empty()
        raise NotFound(
            f"no snapshot answers to {reference!r}",
            next_step="tychora inspect WORKSPACE log lists what there is; known forms: main, main~2, 2026-05-01, "
            "a tag, the first digits of a snapshot's hash",
        )

    def _relative(self, reference: str) -> str | None:
        match = re.fullmatch(r"main(?:~(\d{1,9}))?", reference)
        if not match:
            return None
        steps = int(match.group(1) or 0)
        if steps == 0:
            return self.log.head().snapshot or ""
        history = self.log.history()
        if steps >= len(history):
            if steps == len(history):
                return ""
            raise NotFound(
                f"{reference} goes back further than the history, which has {len(history)} commits here",
                next_step="tychora inspect WORKSPACE log lists them",
            )
        return history[steps].snapshot

    def _tagged(self, reference: str) -> str | None:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}", reference):
            return None
        try:
            return str(unseal(self.store.read(f"tags/{reference}.json"), f"tags/{reference}.json").get("snapshot"))
        except NotFound:
            return None

    def _dated(self, reference: str) -> str | None:
        try:
            moment = datetime.fromisoformat(reference)
        except ValueError:
            return None
        if re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", reference):
            moment += timedelta(days=1)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        for entry in self.log.history():
            if datetime.fromisoformat(entry.time) < moment:
                return entry.snapshot
        raise NotFound(
            f"nothing was committed here before {moment.isoformat()}",
            next_step="tychora inspect WORKSPACE log",
        )

    def _by_hash(self, reference: str) -> str | None:
        prefix = reference.removeprefix("snapshot_").lower()
        if not re.fullmatch(r"[0-9a-f]{6,64}", prefix):
            return None
        found = {Path(entry.path).stem for entry in self.store.list(f"snapshots/{prefix}")}
        if len(found) > 1:
            raise InvalidRequest(f"{reference} is the prefix of {len(found)} snapshots", next_step="give more digits")
        return next(iter(found), None)

    def commit(self, build: Callable[[Snapshot], Manifest | None], *, now: Callable[[], str] = utc_now) -> Snapshot:
        """Put a manifest on top of the newest snapshot.

        `build(head)` makes the manifest that continues `head`, or None when nothing is left to do; it is called again
        for each rival that commits first. Returns the snapshot that is then the head.
        """

        def attempt(head: Head) -> str | None:
            manifest = build(self.at_head(head))
            return None if manifest is None else self.put_manifest(manifest)

        head = self.log.commit(attempt, write_id=secrets.token_hex(16), now=now)
        return self.at_head(head)

    def scratch(self) -> Path:
        """A local folder for temporary files, on the bundle's own disk where it has one. Nothing in it is durable."""
        local = self.store.local_path("staging")
        folder = local if local is not None else self.cache.directory / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def put_files(self, directory: Path, names: Iterable[tuple[str, str]]) -> None:
        """Upload `(name below directory, path in the bundle)` pairs; all are durable when this returns."""
        self.store.write_many([(path, directory / name) for name, path in names])


def _spoken(store: Store) -> str:
    """A store's place as people write it: a path, or a URL where it is not on this machine."""
    local = store.local_path(MARKER)
    return store.url if local is None else str(local.parent)
