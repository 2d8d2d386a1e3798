"""Filters hold before anything is ranked, in every channel."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tychora_format.workspace import Workspace
from tychora_functions.query import query
from tychora_functions.query.eligibility import matches_path
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.requests import QueryRequest

Build = Callable[..., Workspace]

FILES = {
    "docs/ferry.md": "# Ferry\n\nThe ferry leaves at seven.\n",
    "docs/old/ferry.txt": "The ferry left at eight.\n",
    "src/ferry.py": 'def ferry():\n    """The ferry leaves."""\n    return 7\n',
    "src/ferry.js": "function ferry() { return 'the ferry leaves' }\n",
    "tariff.csv": "ferry,price\nday,9\nnight,12\n",
}


@pytest.fixture(scope="module")
def workspace(build: Build) -> Workspace:
    made = build(FILES)
    return build({"notes.md": "The ferry of the other collection.\n"}, collection="other", into=made)


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        ({}, {*FILES, "notes.md"}),
        ({"collection": ["other"]}, {"notes.md"}),
        ({"kind": ["code"]}, {"src/ferry.py", "src/ferry.js"}),
        ({"kind": ["table"]}, {"tariff.csv"}),
        ({"kind": ["md", "txt"]}, {"docs/ferry.md", "docs/old/ferry.txt", "notes.md"}),
        ({"language": ["Python"]}, {"src/ferry.py"}),
        ({"path": ["docs/*"]}, {"docs/ferry.md", "docs/old/ferry.txt"} - {"docs/old/ferry.txt"}),
        ({"path": ["docs/**"]}, {"docs/ferry.md", "docs/old/ferry.txt"}),
        ({"path": ["docs"]}, {"docs/ferry.md", "docs/old/ferry.txt"}),
        ({"path": ["*.md", "src/ferry.py"], "collection": ["default"]}, {"docs/ferry.md", "src/ferry.py"}),
        ({"path": ["nothing"]}, set()),
        ({"kind": []}, {*FILES, "notes.md"}),
    ],
)
@pytest.mark.parametrize("channels", [("exact", "lexical", "text"), ("lexical",), ("text",)])
def test_only_what_the_filters_admit_is_found(
    workspace: Workspace, filters: dict[str, list[str]], paths: set[str], channels: tuple[str, ...]
) -> None:
    asked = QueryRequest.model_validate({"question": "ferry", "filters": filters, "channels": channels, "k": 50})
    result = query(workspace, asked)
    found = {segment.source.path for segment in result.segments}
    assert found == paths if "lexical" in channels else found <= paths
    if not paths:
        assert "the filters leave nothing to search" in result.coverage_gaps


def test_an_unknown_filter_is_refused_with_the_known_ones(workspace: Workspace) -> None:
    with pytest.raises(InvalidRequest, match="collection, kind, path, language"):
        query(workspace, QueryRequest(question="ferry", filters={"colour": ("red",)}))


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("*.md", "a/b/c.md", True),
        ("a/*.md", "a/b/c.md", False),
        ("a/**/c.md", "a/b/d/c.md", True),
        ("a/**/c.md", "a/c.md", True),
        ("**/c.md", "c.md", True),
        ("a/b/", "a/b/c.md", True),
        ("a", "ab/c.md", False),
        ("a*", "ab/c.md", True),
        ("?.md", "ü.md", True),
        ("[ab].md", "b.md", True),
        ("[!ab].md", "b.md", False),
        ("[!ab].md", "c.md", True),
        ("odd[name.md", "odd[name.md", True),
        ("a.c", "abc", False),
    ],
)
def test_patterns_are_those_of_a_shell(pattern: str, path: str, fits: bool) -> None:
    assert matches_path(pattern, path) is fits


@given(st.text(max_size=20), st.text(max_size=20))
def test_any_text_is_a_pattern_and_fits_itself(pattern: str, path: str) -> None:
    matches_path(pattern, path)
    assert matches_path(path, path)
