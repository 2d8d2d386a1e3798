"""Gate G3: fifty sources are deleted; nobody is shown them afterwards, and a collection leaves none of their bytes.

Every source, every revision of it and every file name has a word of its own that occurs nowhere else.
"""

from __future__ import annotations

import json
import random
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bundles import read_everything, settings
from tychora_format.cache import Cache
from tychora_format.erasure import every_batch
from tychora_format.lexical import open_view
from tychora_format.proof import check_proof, encode_proof
from tychora_format.store.packed import PackedStore
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.copies.packing import pack
from tychora_functions.evidence import evidence, verify_citation
from tychora_functions.inspection import history, sources
from tychora_functions.maintain.collect import collect
from tychora_functions.maintain.erase import erase
from tychora_functions.maintain.verify import verify
from tychora_functions.proving import prove
from tychora_functions.query import query, replay
from tychora_schemas.errors import TychoraError
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import Citation, QueryResult

FILES = 32
ERASED = 50
GROUP = 10
COLLECTIONS = ("plans", "letters")
COPY = 6
"""Every seventh file is a copy of another."""
CHANNELS = ("exact", "lexical", "text")


@dataclass
class Marked:
    """A source and the words that only it has: in its file names and in its revisions' texts."""

    collection: str
    path: str
    names: list[str]
    words: list[str]
    twin: Marked | None = None
    """The source that has the same bytes, and so the same words."""
    id: str = ""


@dataclass
class Bundle:
    workspace: Workspace
    folder: Path
    marked: list[Marked]
    states: list[str] = field(default_factory=list)
    """The snapshots from before anything was erased."""
    answers: dict[tuple[str, str], QueryResult] = field(default_factory=dict)
    """(snapshot, word) → what was answered before anything was erased."""

    def erased_words(self, gone: Sequence[Marked]) -> list[str]:
        """The words that nothing left has."""
        shared = {word for each in self.marked if each not in gone for word in each.words}
        return [word for each in gone for word in (*each.names, *each.words) if word not in shared]


class Words:
    """Words of letters, each of them new."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def __call__(self) -> str:
        return "q" + "".join(self.chance.choices(string.ascii_lowercase, k=13))


def text_of(suffix: str, word: str) -> str:
    said = f"The valve {word} is checked by order number X-{word}-17."
    match suffix:
        case ".md":
            return f"# About {word}\n\n{said}\n\n## Further\n\nNothing but {word} matters.\n"
        case ".py":
            return f'def {word}():\n    """{said}"""\n    return "{word}"\n'
        case ".csv":
            return f"name,note\nvalve,{said}\n{word},none\n"
        case ".json":
            return json.dumps({word: said}) + "\n"
        case ".html":
            return f"<html><head><title>{word}</title></head><body><h1>{word}</h1><p>{said}</p></body></html>\n"
    return f"{said}\n\nA second paragraph about {word}.\n"


SUFFIXES = (".md", ".txt", ".py", ".csv", ".json", ".html")


def put(folder: Path, each: Marked, words: Words, twin: Marked | None = None) -> None:
    """Write a revision of the source: with a word of its own, or with the bytes of its twin."""
    place = folder / each.collection / each.path
    place.parent.mkdir(parents=True, exist_ok=True)
    if twin is None:
        each.words.append(words())
        place.write_text(text_of(place.suffix, each.words[-1]), "utf-8", newline="\n")
    else:
        each.twin, twin.twin = twin, each
        each.words.append(twin.words[-1])
        place.write_bytes((folder / twin.collection / twin.path).read_bytes())


def built(tmp_path: Path, seed: int) -> Bundle:
    """Two collections in three states: changed files, moved ones, removed ones, and several of the same bytes."""
    words = Words(seed)
    folder = tmp_path / "files"
    marked: list[Marked] = []
    for collection in COLLECTIONS:
        for number in range(FILES):
            name = words()
            path = f"part{number % 4}/{name}{SUFFIXES[number % len(SUFFIXES)]}"
            each = Marked(collection, path, [name], [])
            same = number % 7 == COPY and marked[-len(SUFFIXES)].path.endswith(SUFFIXES[number % len(SUFFIXES)])
            put(folder, each, words, marked[-len(SUFFIXES)] if same else None)
            marked.append(each)
    workspace = Workspace.create(tmp_path / "bundle")
    bundle = Bundle(workspace, folder, marked)
    add_all(bundle)
    for number, each in enumerate(marked):
        place = folder / each.collection / each.path
        if number % 3 == 0 and each.twin is None:
            put(folder, each, words)
        elif number % 5 == 1 and (each.twin is None or number % FILES % 7 == COPY):
            each.names.append(words())
            each.path = f"moved/{each.names[-1]}{place.suffix}"
            target = folder / each.collection / each.path
            target.parent.mkdir(exist_ok=True)
            place.rename(target)
        elif number % 11 == 4 and each.twin is None:
            place.unlink()
    add_all(bundle)
    for each in marked[:FILES:4]:
        if each.twin is None and (folder / each.collection / each.path).exists():
            put(folder, each, words)
    add_all(bundle, COLLECTIONS[:1])
    bundle.states = [state.snapshot_id for state in history(workspace)]
    identify(bundle)
    for at in bundle.states[:3]:
        for word in (word for each in marked for word in each.words):
            result = ask(workspace, word, at, ["lexical"])
            if word in shown(result):
                bundle.answers[at, word] = result
    return bundle


def add_all(bundle: Bundle, collections: Sequence[str] = COLLECTIONS) -> None:
    for collection in collections:
        root = bundle.folder / collection
        report = add(bundle.workspace, [root], collection=collection, settings=settings(parse_workers=1))
        assert not report.quarantined


def identify(bundle: Bundle) -> None:
    known = {
        (each.collection, path): each.id
        for state in history(bundle.workspace)
        for each in sources(bundle.workspace, at=state.snapshot_id)
        for path in each.paths
    }
    for each in bundle.marked:
        each.id = known[each.collection, each.path]


def ask(workspace: Workspace, word: str, at: str = "main", channels: Sequence[Any] = CHANNELS) -> QueryResult:
    return query(workspace, QueryRequest(question=word, at=at, channels=tuple(channels), k=4))


def shown(result: QueryResult) -> str:
    """All of a result that comes from sources."""
    return result.model_dump_json(include={"segments", "citations", "visuals", "relations", "warnings"})


def assert_unseen(bundle: Bundle, gone: Sequence[Marked], chance: random.Random) -> None:
    """No channel, no listing, no replay and no old snapshot shows a word of what is gone, nor proves it."""
    workspace, words = bundle.workspace, bundle.erased_words(gone)
    everywhere = [*bundle.states, workspace.head().id]
    for at in everywhere:
        listing = json.dumps([each.model_dump(mode="json") for each in sources(workspace, at=at)])
        assert not [word for word in words if word in listing]
    for word in chance.sample(words, 8):
        at = chance.choice(everywhere)
        for channel in CHANNELS:
            assert word not in shown(ask(workspace, word, at, [channel]))
        assert not ask(workspace, word, at).coverage.terms.get(word)
    past = [key for key in bundle.answers if key[1] in words]
    for key in chance.sample(past, 8):
        result = bundle.answers[key]
        assert key[1] not in shown(replay(workspace, result.run_id))
        for citation in result.citations[:2]:
            if key[1] in citation.quote:
                assert_unproven(workspace, citation, key[0])
    for each in chance.sample(list(gone), 8):
        for at in everywhere:
            with pytest.raises(TychoraError):
                evidence(workspace, each.id, at)


def assert_unproven(workspace: Workspace, citation: Citation, at: str) -> None:
    check = verify_citation(workspace, citation)
    assert (check.holds, check.found) == (False, None)
    for call in (lambda: prove(workspace, citation, at), lambda: evidence(workspace, citation.unit_ids[0], at)):
        with pytest.raises(TychoraError):
            call()


def assert_the_rest_answers(bundle: Bundle, gone: Sequence[Marked], chance: random.Random) -> None:
    """What others answered, cited and proved before holds as it did, in the snapshots of then."""
    workspace = bundle.workspace
    lost = set(bundle.erased_words(gone))
    past = [key for key in bundle.answers if key[1] not in lost]
    for at, word in chance.sample(past, 8):
        before = bundle.answers[at, word]
        texts = [each.text for each in before.segments if word in each.text]
        again = ask(workspace, word, at)
        assert texts == [each.text for each in again.segments if word in each.text]
        citation = next(each for each in again.citations if word in each.quote)
        assert verify_citation(workspace, citation).holds
        proof = prove(workspace, citation, at)
        assert check_proof(encode_proof(proof), at).holds


def readable(folder: Path) -> Iterator[tuple[str, str]]:
    """Everything that the files of a bundle or of a cache say: raw, and as what their formats hold."""
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        name = path.relative_to(folder).as_posix()
        yield name, name
        yield name, path.read_bytes().decode("latin-1")
        if path.suffix == ".parquet":
            yield name, json.dumps(pq.ParquetFile(path).read().to_pylist(), default=str)
        elif path.suffix == ".arrow":
            yield name, json.dumps(pa.ipc.open_file(str(path)).read_all().to_pylist())


def assert_no_bytes(bundle: Bundle, gone: Sequence[Marked]) -> None:
    """No file of the bundle, and none that this machine derived from it, holds a word of what is gone."""
    workspace, words = bundle.workspace, bundle.erased_words(gone)
    for folder in (Path(workspace.store.url.removeprefix("file://")), workspace.cache.directory):
        found = {(name, word) for name, text in readable(folder) for word in words if word in text}
        assert not found
    parts = [batch.lexical() for batch in every_batch(workspace) if batch.rows]
    view = open_view(bundle.folder / "view", parts, [None] * len(parts))
    for word in words:
        assert not [name for name in ("body", "title", "identifier") if view.document_frequency(word, name)]


def duckdb_rows(bundle: Bundle) -> str:
    """What plain SQL says of all tables of all batches that are there."""
    duckdb = pytest.importorskip("duckdb")
    root = Path(bundle.workspace.store.url.removeprefix("file://"))
    said = []
    for table in ("sources", "extractions", "units", "symbols"):
        rows = duckdb.sql(f"select * from read_parquet('{root}/batches/*/tables/{table}.parquet')").fetchall()
        said.append(json.dumps(rows, default=str))
    return "\n".join(said)


def test_fifty_sources_are_deleted(tmp_path: Path, seed: int) -> None:
    """Nothing is shown from the moment in which a deletion returns; after a collection no byte is left."""
    bundle = built(tmp_path, seed)
    workspace, chance = bundle.workspace, random.Random(seed)
    chosen = chance.sample(bundle.marked, ERASED)
    gone: list[Marked] = []
    statements = set()
    for each in chosen:
        report = erase(workspace, chance.choice([each.id, each.id[:20], f"{each.collection}:{each.path}"]), "gate")
        assert report.target == each.id
        statements.add(report.statement_id)
        gone.append(each)
        words = bundle.erased_words([each])
        assert not [word for word in words if word in shown(ask(workspace, chance.choice(words), channels=["lexical"]))]
        if len(gone) % GROUP == 0:
            assert_unseen(bundle, gone, chance)
    assert len(statements) == ERASED
    pack(workspace, tmp_path / "before.tychora")
    elsewhere = Workspace.open(PackedStore(tmp_path / "before.tychora"), cache=Cache(tmp_path / "elsewhere"))
    packed = Bundle(elsewhere, bundle.folder, bundle.marked, bundle.states, bundle.answers)
    assert_unseen(packed, gone, chance)
    collect(workspace, grace_hours=0)
    assert_no_bytes(bundle, gone)
    assert not [word for word in bundle.erased_words(gone) if word in duckdb_rows(bundle)]
    assert_unseen(bundle, gone, chance)
    assert_the_rest_answers(bundle, gone, chance)
    assert {each.id for each in workspace.statements.in_force().erasures} >= statements, "the receipts stay"
    checked = verify(workspace)
    assert checked.ok, checked.problems
    assert list(read_everything(workspace))
    pack(workspace, tmp_path / "after.tychora")
    packed_bytes = (tmp_path / "after.tychora").read_bytes()
    assert not [word for word in bundle.erased_words(gone) if word.encode() in packed_bytes]

    root = COLLECTIONS[0]
    again = add(workspace, [bundle.folder / root], collection=root, settings=settings(parse_workers=1))
    refused = {each.path for each in again.quarantined}
    there = {each.path for each in gone if each.collection == root and (bundle.folder / root / each.path).exists()}
    assert refused == there, "files that were erased are not taken back"
    assert_no_bytes(bundle, gone)
