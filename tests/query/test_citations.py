"""One citation per place, with a locator that covers exactly the quoted units."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tychora_format.tables import ChunkRow, SourceRow, UnitSpan
from tychora_functions.query.citations import cite, quotes
from tychora_functions.query.pieces import Piece, cut, pieces_of

SOURCE = SourceRow(
    "source_1", "default", "a.txt", ["a.txt"], "r", "revision_1", "0" * 64, 1, "indexed", None, None, "f", "e"
)


def chunk(*units: tuple[str, dict[str, Any]], gap: str = "\n", row: int = 0, first_unit: int = 0) -> ChunkRow:
    text = gap.join(each for each, _ in units)
    spans, at = [], 0
    for each, locator in units:
        spans.append(UnitSpan("paragraph", at, at + len(each), json.dumps(locator)))
        at += len(each) + len(gap)
    return ChunkRow(row, 0, text, (), 1, first_unit, tuple(spans))


def cited(*chunks: ChunkRow) -> list[dict[str, Any]]:
    _, runs = quotes(pieces_of(chunks))
    return [
        {"quote": found.quote, **found.locator.model_dump(exclude_none=True)}
        for found in (cite(run, SOURCE, "0" * 64) for run in runs)
    ]


def test_literal_neighbours_become_one_range_of_bytes_and_lines() -> None:
    units = ("über", {"bytes": [0, 5], "lines": [1, 1]}), ("Fähre", {"bytes": [7, 13], "lines": [3, 3]})
    assert cited(chunk(*units, gap="\n\n")) == [{"quote": "über\n\nFähre", "bytes": (0, 13), "lines": (1, 3)}]


def test_bytes_are_joined_only_where_the_gap_is_what_stands_between() -> None:
    units = ("one", {"bytes": [0, 3], "lines": [1, 1]}), ("two", {"bytes": [9, 12], "lines": [2, 2]})
    assert [each["bytes"] for each in cited(chunk(*units))] == [(0, 3), (9, 12)]


def test_a_page_is_one_place_and_the_next_page_another() -> None:
    boxes = [{"page": page, "x0": 0.0, "y0": 0.0, "x1": 9.0, "y1": 9.0} for page in (1, 1, 2)]
    units = [(f"line {n}", {"page": box["page"], "boxes": [box]}) for n, box in enumerate(boxes)]
    found = cited(chunk(*units))
    assert [(each["page"], len(each["boxes"]), each["quote"]) for each in found] == [
        (1, 2, "line 0\nline 1"),
        (2, 1, "line 2"),
    ]


def test_paragraphs_of_a_part_become_a_run_of_paths() -> None:
    units = [(f"p{n}", {"part": "word/document.xml", "path": f"body/p[{n}]", "transform": "docx"}) for n in (1, 2, 3)]
    assert [each["path"] for each in cited(chunk(*units))] == ["body/p[1]..body/p[3]"]


def test_parts_of_a_long_paragraph_stay_apart() -> None:
    units = [("half", {"path": "body/p[1]", "characters": [n, n + 4]}) for n in (0, 4)]
    assert [each["characters"] for each in cited(chunk(*units, gap=""))] == [(0, 4), (4, 8)]


def test_cells_join_down_the_same_columns_only() -> None:
    units = [(cells, {"sheet": "Budget", "cells": cells}) for cells in ("B2:D2", "B3:D3", "B5:D5", "B6:C6")]
    assert [each["cells"] for each in cited(chunk(*units))] == ["B2:D3", "B5:D5", "B6:C6"]


def test_adjacent_chunks_join_where_their_bytes_touch_and_are_quoted_apart_elsewhere() -> None:
    first = chunk(("one, ", {"bytes": [0, 5], "lines": [1, 1]}), row=0)
    touching = chunk(("two", {"bytes": [5, 8], "lines": [1, 1]}), row=1, first_unit=1)
    apart = chunk(("three", {"bytes": [12, 17], "lines": [4, 4]}), row=2, first_unit=2)
    text, _ = quotes(pieces_of([first, touching, apart]))
    assert text == "one, two\nthree"
    assert [each["bytes"] for each in cited(first, touching, apart)] == [(0, 8), (12, 17)]


@given(st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=60), st.data())
def test_a_part_of_a_literal_piece_is_those_bytes_on_those_lines(text: str, data: st.DataObject) -> None:
    raw = text.encode()
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    piece = Piece(text, {"bytes": [7, 7 + len(raw)], "lines": [3, 9]}, "", True, "paragraph", 0, (text, "{}"))
    part = cut(piece, start, end)
    first, last = part.locator["bytes"]
    assert raw[first - 7 : last - 7].decode() == part.text == text[start:end]


def test_a_part_elsewhere_says_which_characters_are_meant() -> None:
    piece = Piece("0123456789", {"path": "body/p[1]"}, "", True, "paragraph", 0, ("0123456789", "{}"))
    part = cut(piece, 2, 8)
    assert (part.locator["characters"], cut(part, 1, 3).locator["characters"]) == ([2, 8], [3, 5])


def test_two_parts_of_one_unit_with_the_same_words_have_two_ids() -> None:
    piece = Piece("again again", {"bytes": [0, 11], "lines": [1, 1]}, "", True, "paragraph", 0, ("again again", "{}"))
    ids = {cite([cut(piece, start, start + 5)], SOURCE, "0" * 64).id for start in (0, 6)}
    assert len(ids) == 2
