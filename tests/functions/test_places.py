"""A bundle behaves alike wherever it lies: a folder, an object store, memory."""

from __future__ import annotations

import shutil
from pathlib import Path

from tychora_format.cache import Cache
from tychora_format.store import LocalStore, Store
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.maintain.verify import verify
from tychora_functions.query import query
from tychora_schemas.requests import QueryRequest
from tychora_schemas.settings import resolve_settings

MOVES = Path(__file__).parent.parent / "data" / "moves"
QUESTION = QueryRequest(question="When does the ferry leave?")


def filled(store: Store, root: Path) -> Workspace:
    """A workspace with two commits of the same root."""
    workspace = Workspace.create(store)
    for state in ("v1", "v2"):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(MOVES / state, root)
        add(workspace, [root], settings=resolve_settings(flags={"parse_workers": 1}, environment={}))
    return workspace


def test_add_query_and_verify_work_on_every_store(any_store: Store, tmp_path: Path) -> None:
    """The content root, the evidence and the citations are those of a bundle in a folder."""
    there = filled(any_store, tmp_path / "docs")
    here = filled(LocalStore(tmp_path / "folder"), tmp_path / "again" / "docs")
    assert there.head().manifest.content_root == here.head().manifest.content_root
    found, expected = query(there, QUESTION), query(here, QUESTION)
    assert found.segments and found.segments == expected.segments
    assert found.citations == expected.citations
    assert verify(there).ok


def test_a_reader_with_an_empty_cache_fetches_and_checks_what_it_needs(any_store: Store, tmp_path: Path) -> None:
    writer = filled(any_store, tmp_path / "docs")
    reader = Workspace.open(any_store, cache=Cache(tmp_path / "cold"))
    assert query(reader, QUESTION) == query(writer, QUESTION)
    warm = Workspace.open(any_store, cache=Cache(tmp_path / "cold"))
    assert query(warm, QUESTION) == query(writer, QUESTION)
