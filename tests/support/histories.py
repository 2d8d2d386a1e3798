"""Synthetic bundles that cost milliseconds: no parser, no embedding model, but the real `publish`.

A *model* is what a bundle should hold, as a plain dictionary: path → text. A text is indexed as one unit per paragraph,
its original is retained, and every unit has a literal byte locator. A text with a NUL, or without any word, is
quarantined. A new path with the text of a path that goes in the same change is a move.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from tychora_format.batch import Parsed
from tychora_format.cache import Cache
from tychora_format.extraction import Extraction
from tychora_format.manifest import Manifest
from tychora_format.snapshot import LiveSource, Snapshot
from tychora_format.store import MemoryStore, Store
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.publish import Change, Published, publish
from tychora_schemas.identity import canonical_json, content_sha256, identity

__all__ = [
    "bring",
    "clone",
    "commit",
    "live_by_id",
    "model_of",
    "new_workspace",
    "publish_texts",
    "synthetic_change",
    "synthetic_extraction",
]

ROOT = "texts"
FINGERPRINT = identity("fingerprint", {"parser": "synthetic"}).removeprefix("fingerprint_")
LOCAL = ("log/", "staging/", "leases/", "jobs/", "keys/")


def new_workspace(cache: Cache, store: Store | None = None) -> Workspace:
    """An empty bundle, in memory if no store is given. Many bundles may share one cache."""
    return Workspace.create(store or MemoryStore(secrets.token_hex(8)), cache=cache)


def synthetic_change(
    workspace: Workspace, texts: Mapping[str, str | None], collection: str = "default", root: str = ROOT
) -> Change:
    """What makes `texts` true on top of the head: a text for a path adds or changes it, None removes it.

    A path that is as it should be takes no part. The originals are put into the bundle.
    """
    head = workspace.head()
    live = head.live_sources(lambda row: (row.collection, row.root) == (collection, root), hidden=True)
    before = {each.row.path: each for each in live}
    taken = set(head.recorded.column("source_id").to_pylist())
    known = {each for batch in head.batches for each in batch.extractions.column("extraction_id").to_pylist()}
    gone = {path: before[path] for path, text in texts.items() if text is None and path in before}
    seen: dict[str, tuple[str, int]] = {each.row.source_id: (each.batch, each.number) for each in gone.values()}
    rows: list[SourceRow] = []
    parsed: list[Parsed] = []
    for path, text in sorted(texts.items()):
        if text is None:
            continue
        data = text.encode()
        sha256 = content_sha256(data)
        former = before.get(path) or _moved(gone, sha256)
        if former and (former.row.path, former.row.content_sha256) == (path, sha256):
            continue
        workspace.objects.put(sha256, data)
        extraction = synthetic_extraction(data) if _is_readable(text) else None
        source_id = former.row.source_id if former else _fresh_id(collection, path, taken)
        taken.add(source_id)
        if former:
            seen[source_id] = (former.batch, former.number)
        row = SourceRow(
            source_id=source_id,
            collection=collection,
            path=path,
            paths=_paths(former, path),
            root=root,
            revision_id=identity("revision", {"source": source_id, "content": sha256}),
            content_sha256=sha256,
            size=len(data),
            state="indexed" if extraction else "quarantined",
            reason=None if extraction else "it has no readable text",
            next_step=None,
            fingerprint=FINGERPRINT,
            extraction_id=extraction.header.extraction_id if extraction else None,
        )
        rows.append(row)
        if extraction and extraction.header.extraction_id not in known:
            known.add(extraction.header.extraction_id)
            parsed.append(Parsed(extraction, row))
    return Change(rows, parsed, list(gone.values()), seen)


def _moved(gone: dict[str, LiveSource], sha256: str) -> LiveSource | None:
    """The first gone source with this content, which is then gone no longer."""
    path = min((path for path, each in gone.items() if each.row.content_sha256 == sha256), default=None)
    return None if path is None else gone.pop(path)


def _paths(former: LiveSource | None, path: str) -> list[str]:
    """All paths that the source ever had, the newest last."""
    paths = former.row.paths if former else []
    return paths if paths and paths[-1] == path else [*paths, path]


def _fresh_id(collection: str, path: str, taken: set[str]) -> str:
    """The id of a source first seen at `path`; another one if the source of that name lives on elsewhere."""
    name, again = path, 1
    while (source_id := identity("source", {"collection": collection, "path": name})) in taken:
        again += 1
        name = f"{path}#{again}"
    return source_id


def _is_readable(text: str) -> bool:
    return "\0" not in text and not text.isspace() and text != ""


def synthetic_extraction(data: bytes) -> Extraction:
    """The paragraphs of UTF-8 text, a unit and a chunk each."""
    return Extraction.build(
        list(_paragraphs(data)),
        content_sha256=content_sha256(data),
        fingerprint=FINGERPRINT,
        parser="plain",
        kind="document",
        language=None,
        title=None,
    )


def _paragraphs(data: bytes) -> Iterator[dict[str, Any]]:
    for match in re.finditer(rb"[^\n]+(?:\n[^\n]+)*", data):
        text = match.group().decode()
        first_line = data.count(b"\n", 0, match.start()) + 1
        lines = [first_line, first_line + text.count("\n")]
        locator = canonical_json({"bytes": [match.start(), match.end()], "lines": lines}).decode()
        unit = {"kind": "paragraph", "start": 0, "end": len(text), "locator": locator, "attributes": None}
        yield {"text": text, "heading_path": [], "tokens": len(text.split()), "units": [unit]}


def publish_texts(
    workspace: Workspace, texts: Mapping[str, str | None], collection: str = "default", root: str = ROOT
) -> Published:
    """Make `texts` true (see `synthetic_change`): at most one batch, without vectors, and one commit."""
    return publish(workspace, synthetic_change(workspace, texts, collection, root), {})


def model_of(snapshot: Snapshot) -> dict[str, str]:
    """What a snapshot shows, to be compared with a model: path → SHA-256 of the content."""
    return {each.row.path: each.row.content_sha256 or "" for each in snapshot.live_sources()}


def live_by_id(snapshot: Snapshot) -> dict[str, LiveSource]:
    """Every live source by its id, hidden ones included."""
    return {each.row.source_id: each for each in snapshot.live_sources(hidden=True)}


def bring(source: Workspace, destination: Workspace) -> None:
    """Copy all files that travel and are not there; the destination's log stays as it is."""
    there = {file.path for file in destination.store.list("")}
    for file in source.store.list(""):
        if not file.path.startswith(LOCAL) and file.path not in there:
            destination.store.write(file.path, source.store.read(file.path))


def clone(workspace: Workspace, at: str | None = None) -> Workspace:
    """The same bundle on another machine (in memory), whose first commit is the snapshot `at`, or the head."""
    head = workspace.snapshot(at) if at else workspace.head()
    store = MemoryStore(secrets.token_hex(8))
    copy = Workspace(store, workspace.marker, workspace.cache)
    bring(workspace, copy)
    if head.id:
        commit(copy, head.manifest)
    return copy


def commit(workspace: Workspace, manifest: Manifest) -> Snapshot:
    """Make the snapshot of this manifest the head, whatever the head was."""
    return workspace.commit(lambda head: manifest)
