"""JSON: records are raw ranges of the source, cut along its structure, each with its path."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_checks import CORPUS, reads_back, tiles

from tychora_functions.parse import json as parser

WORDS = st.characters(exclude_categories=["Cs", "Cc"])
SCALARS = st.none() | st.booleans() | st.integers() | st.text(WORDS, max_size=80) | st.just("größe 第一条 " * 60)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(WORDS, max_size=8), inner, max_size=8)
)


@settings(max_examples=40, deadline=None)
@given(VALUES, st.booleans(), st.sampled_from([None, 2]), st.sampled_from(["utf-8", "utf-8-sig"]))
def test_units_tile_the_file_and_read_back(value: object, escaped: bool, indent: int | None, encoding: str) -> None:
    data = json.dumps(value, ensure_ascii=escaped, indent=indent).encode(encoding, "surrogatepass")
    document = parser.parse(data, "a.json")
    assert not document.warnings
    tiles(data, document)
    reads_back(data, document, parser.read_at)


def test_a_small_file_is_one_record_and_a_large_one_follows_its_structure() -> None:
    small = parser.parse(b'{"a": 1}', "a.json").units
    assert [(unit.text, unit.place(0, 3).path) for unit in small] == [('{"a": 1}', "$")]
    value = {
        "name": "x",
        "kind": "y",
        "items": [{"id": number, "text": "t" * 700} for number in range(3)],
        "odd key": {"größe": "g" * 900, "b": "h" * 900},
    }
    units = parser.parse(json.dumps(value).encode(), "a.json").units
    assert [(unit.place(0, 1).path, unit.heading_path) for unit in units] == [
        ("$.name..$.kind", ()),
        ("$.items[0]", ("items",)),
        ("$.items[1]", ("items",)),
        ("$.items[2]", ("items",)),
        ('$["odd key"]["größe"]', ("odd key",)),
        ('$["odd key"].b', ("odd key",)),
    ]
    assert units[1].text.startswith('"items": [{"id": 0')
    assert units[-1].text.endswith("}}")


def test_embedded_data_is_one_unit_marked_as_furniture() -> None:
    value = {"image/png": "iVBORw0KGgo" * 300, "note": "n"}
    units = parser.parse(json.dumps(value).encode(), "n.ipynb").units
    assert [unit.attributes for unit in units] == [{"furniture": "true"}, {}]


def test_json_lines_give_a_record_a_line_and_bad_lines_are_kept_and_reported() -> None:
    data = b'{"id": 1}\r\n\r\n{"id": 2\r\n[3]\r\n'
    document = parser.parse(data, "a.jsonl")
    tiles(data, document)
    assert [(unit.text, unit.place(0, 1).lines) for unit in document.units] == [
        ('{"id": 1}', (1, 1)),
        ('{"id": 2', (3, 3)),
        ("[3]", (4, 4)),
    ]
    assert document.warnings == ["1 lines are not valid JSON, the first is line 3; kept as they are."]


@pytest.mark.parametrize("text", ['{"a" 1}', "{'a': 1}", "[1, 2", "not json", '{"a": 1}}'])
def test_invalid_json_is_read_as_plain_text_with_a_warning(text: str) -> None:
    document = parser.parse(text.encode(), "a.json")
    assert [unit.text for unit in document.units] == [text]
    assert document.warnings == ["Not valid JSON: read as plain text."]


@pytest.mark.parametrize("text", ["", "  \n", "{}", "[]", "1", '"x"', "// note\n{}", "[" * 20_000 + "]" * 20_000])
def test_extremes_are_read(text: str) -> None:
    data = text.encode()
    document = parser.parse(data, "a.json")
    tiles(data, document)
    assert bool(document.units) == bool(text.strip())


def test_corpus_files_tile_and_read_back() -> None:
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not here")
    for file in [*CORPUS.rglob("*.json"), *CORPUS.rglob("*.ipynb")]:
        data = file.read_bytes()
        document = parser.parse(data, file.name)
        assert not document.warnings
        tiles(data, document)
        reads_back(data, document, parser.read_at)
