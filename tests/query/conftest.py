"""Small real workspaces: files are parsed, embedded, written into batches and committed as everywhere else."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tychora_format.batch import Parsed, write_batch
from tychora_format.manifest import FORMAT_VERSION, BatchEntry, Manifest
from tychora_format.snapshot import Snapshot, content_root
from tychora_format.store import MemoryStore
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.embed.embed import embed
from tychora_functions.embed.families import DEFAULT_FAMILY
from tychora_functions.parse.detect import detect
from tychora_functions.parse.parse import parse
from tychora_schemas.identity import content_sha256, identity
from tychora_schemas.settings import resolve_settings

Files = Mapping[str, bytes | str]
Build = Callable[..., Workspace]

DATA = Path(__file__).resolve().parents[1] / "data" / "query"


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of inputs for the query's tests."""
    return DATA


@pytest.fixture(scope="session")
def build() -> Build:
    """Makes a workspace in memory out of files; several groups of files give several batches."""

    def make(*groups: Files, collection: str = "default", into: Workspace | None = None) -> Workspace:
        workspace = into or Workspace.create(MemoryStore(secrets.token_hex(8)))
        for files in groups:
            commit(workspace, files, collection)
        return workspace

    return make


def commit(workspace: Workspace, files: Files, collection: str) -> Snapshot:
    """Put files on top of the workspace's head as one batch."""
    parsed, sources = _read(workspace, files, collection)
    inputs = [text for each in parsed for text in each.extraction.embedding_inputs()]
    with tempfile.TemporaryDirectory() as folder:
        entry = write_batch(Path(folder), parsed, sources, {DEFAULT_FAMILY: embed(inputs, DEFAULT_FAMILY, {})})
        workspace.put_batch(Path(folder), entry)
    return workspace.commit(lambda head: _continued(head, entry))


def _continued(head: Snapshot, entry: BatchEntry) -> Manifest:
    entries = {each.id: each for each in (*head.manifest.batches, entry)}
    return Manifest(
        format=FORMAT_VERSION,
        parents=(head.id,) if head.id else (),
        time=utc_now(),
        content_root=content_root(head.sources),
        batches=tuple(entries[key] for key in sorted(entries)),
    )


def _read(workspace: Workspace, files: Files, collection: str) -> tuple[list[Parsed], list[SourceRow]]:
    settings = resolve_settings(environment={})
    parsed: dict[str, Parsed] = {}
    sources = []
    for path, given in files.items():
        data = given.encode() if isinstance(given, str) else given
        extraction = parse(data, Path(path).name, detect(data, path).value, settings)
        source_id = identity("source", {"collection": collection, "path": path})
        sha256 = content_sha256(data)
        source = SourceRow(
            source_id=source_id,
            collection=collection,
            path=path,
            paths=[path],
            root="test",
            revision_id=identity("revision", {"source": source_id, "content": sha256}),
            content_sha256=sha256,
            size=len(data),
            state="indexed",
            reason=None,
            next_step=None,
            fingerprint=extraction.header.fingerprint,
            extraction_id=extraction.header.extraction_id,
        )
        workspace.objects.put(sha256, data)
        sources.append(source)
        parsed.setdefault(extraction.header.extraction_id, Parsed(extraction, source))
    return list(parsed.values()), sources
