"""Small bundles for the gates: a corpus, a change, everything that a reader can ask for."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tychora_format.batch import Embedding, Parsed
from tychora_format.snapshot import Snapshot, content_root
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.embed.embed import embed
from tychora_functions.parse.parse import parse
from tychora_functions.plan import revision_identity, source_identity
from tychora_functions.publish import Change
from tychora_functions.roots import Root
from tychora_schemas.identity import content_sha256
from tychora_schemas.settings import ResolvedSettings, resolve_settings

__all__ = [
    "FAMILY",
    "contents",
    "embeddings_of",
    "read_everything",
    "settings",
    "small_change",
    "state_change",
    "write_corpus",
]

FAMILY = "wordllama-256"
ROOT = Root(Path("corpus"), "corpus")
SUBJECTS = ["pump", "valve", "boiler", "turbine", "gasket", "manometer", "flange", "bearing", "condenser", "impeller"]


def settings(**flags: Any) -> ResolvedSettings:
    """The defaults with `flags` over them, whatever the environment says."""
    return resolve_settings(flags=flags, environment={})


def write_corpus(folder: Path, files: int = 30, seed: int = 1) -> Path:
    """Small files of the text formats and of code in `folder`: the same bytes for the same arguments."""
    chance = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        facts = [(chance.choice(SUBJECTS), chance.randrange(10_000)) for _ in range(4)]
        name, text = _file(number, facts)
        place = folder / f"part{number % 3}"
        place.mkdir(exist_ok=True)
        (place / name).write_text(text, "utf-8", newline="\n")
    return folder


def _file(number: int, facts: list[tuple[str, int]]) -> tuple[str, str]:
    said = [(subject, value, f"The {subject} of line {number} has article number {value}.") for subject, value in facts]
    match number % 5:
        case 0:
            sections = (f"## {subject.title()}\n\n{text}\n" for subject, _, text in said)
            return f"manual{number}.md", f"# Manual {number}\n\n" + "\n".join(sections)
        case 1:
            return f"note{number}.txt", "\n\n".join(text for _, _, text in said) + "\n"
        case 2:
            bodies = (f'def {name}_{value}():\n    """{text}"""\n    return {value}\n' for name, value, text in said)
            return f"module{number}.py", "\n\n".join(bodies)
        case 3:
            return f"parts{number}.csv", "name,article\n" + "".join(f"{name},{value}\n" for name, value, _ in said)
        case _:
            return f"record{number}.json", json.dumps({f"{name}_{value}": text for name, value, text in said}) + "\n"


def small_change(workspace: Workspace, path: str, text: str) -> Change:
    """A change that adds one parsed text file, whose original is retained."""
    data = text.encode()
    sha256 = content_sha256(data)
    workspace.objects.put(sha256, data)
    extraction = parse(data, path, "plain", settings())
    row = _row(path, "indexed", sha256, len(data), extraction.header.fingerprint, extraction.header.extraction_id)
    return Change([row], [Parsed(extraction, row)])


def state_change(path: str, reason: str = "a test") -> Change:
    """The smallest change: one source that could not be read. Its batch is a single file."""
    return Change([_row(path, "quarantined", None, 0, "", None, reason)])


def _row(
    path: str, state: Any, sha256: str | None, size: int, mark: str, extraction_id: str | None, reason: str = ""
) -> SourceRow:
    source_id = source_identity("default", path, ROOT)
    return SourceRow(
        source_id=source_id,
        collection="default",
        path=path,
        paths=[path],
        root=ROOT.label,
        revision_id=revision_identity(source_id, sha256) if sha256 else None,
        content_sha256=sha256,
        size=size,
        state=state,
        reason=reason or None,
        next_step=None,
        fingerprint=mark,
        extraction_id=extraction_id,
    )


def embeddings_of(change: Change) -> Mapping[str, Embedding]:
    """The vectors that `change` needs in the default family."""
    inputs = [text for each in change.parsed for text in each.extraction.embedding_inputs()]
    return {FAMILY: embed(inputs, FAMILY, {})} if inputs else {}


def contents(snapshot: Snapshot) -> tuple[str, list[tuple[str, str, str | None]]]:
    """What two builds of the same inputs have in common: the content root, and path, state, extraction of all live."""
    rows = [live.row for live in snapshot.live_sources()]
    return content_root(snapshot.sources), sorted((row.path, row.state, row.extraction_id) for row in rows)


def read_everything(workspace: Workspace) -> Iterator[str]:
    """Ask for every kind of thing that a bundle holds; yields what has been read without an error.

    A damaged file must stop this with a typed error that names it.
    """
    yield f"log of {len(workspace.log.history())}"
    for file in workspace.store.list("tags/"):
        yield workspace.resolve(file.path.removeprefix("tags/").removesuffix(".json")).id
    yield f"statements: {len(workspace.statements.all())}"
    snapshot = workspace.head()
    for live in snapshot.live_sources():
        if live.row.content_sha256:
            workspace.objects.get(live.row.content_sha256)
        yield live.row.path
    for batch in snapshot.batches:
        for name in ("sources", "extractions", "units", "symbols"):
            batch.table(name)
        if batch.rows:
            yield f"{len(batch.chunks(range(batch.rows)))} chunks"
        for family in batch.entry.families:
            vectors = batch.vectors(family)
            assert vectors is not None and np.isfinite(vectors.steps).all()
            batch.ledger(family, [bytes(32)])
    view = snapshot.everything.lexical_view()
    yield f"{len(view.search([('pump', 1.0)], 10))} hits"
