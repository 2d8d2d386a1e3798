"""Chunks: together they hold every unit once and in order, none is too large, and none crosses a border."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tychora_functions.parse.chunks import APART, SETTLED_SECTION, chunk_units
from tychora_functions.parse.units import Unit, UnitKind
from tychora_schemas.locator import Locator

TARGET, CEILING = 120, 160
WORD = "harbour "


def count_words(texts: Sequence[str]) -> list[int]:
    """One token per word; what has no word is still one."""
    return [max(len(text.split()), 1) for text in texts]


def unit(
    text: str, kind: UnitKind = "paragraph", *, page: int | None = None, above: tuple[str, ...] = (), **attributes: str
) -> Unit:
    """A unit whose places say which of its characters they are."""

    def place(start: int, end: int) -> Locator:
        return Locator(page=page, characters=(start, end))

    return Unit(kind, text, place, heading_path=above, attributes=attributes)


def chunks(units: Sequence[Unit]) -> list[dict[str, Any]]:
    return list(chunk_units(units, count_words, TARGET, CEILING))


def kinds(row: dict[str, Any]) -> list[str]:
    return [span["kind"] for span in row["units"]]


def locators(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(span["locator"]) for span in row["units"]]


def attributes(row: dict[str, Any]) -> list[dict[str, str]]:
    return [json.loads(span["attributes"] or "{}") for span in row["units"]]


@st.composite
def documents(draw: st.DrawFn) -> list[Unit]:
    """Headings, paragraphs, rows and furniture of any size, on rising pages or on none; every word occurs once."""
    paged = draw(st.booleans())
    page, above, units = 1, (), []
    for number in range(draw(st.integers(0, 25))):
        page += draw(st.integers(0, 5)) == 0
        words = draw(st.sampled_from([1, 3, 20, 60, 110, 170, 400, 900]))
        text = draw(st.sampled_from([" ", "\n", ". "])).join(f"w{number}_{word}" for word in range(words))
        kind = draw(st.sampled_from(["heading", "paragraph", "paragraph", "table_row", "symbol"]))
        marks = {draw(st.sampled_from(APART)): "true"} if draw(st.integers(0, 4)) == 0 else {}
        units.append(unit(text, kind, page=page if paged else None, above=above, **marks))
        if kind == "heading":
            above = (text,)
    return units


@given(documents())
def test_chunks_hold_every_unit_once_and_in_order(units: list[Unit]) -> None:
    rows = chunks(units)
    written = [row["text"][span["start"] : span["end"]] for row in rows for span in row["units"]]
    assert "".join(written) == "".join(each.text for each in units)


@given(documents())
def test_the_units_of_a_chunk_tile_its_text_up_to_their_gaps(units: list[Unit]) -> None:
    for row in chunks(units):
        spans = row["units"]
        assert spans[0]["start"] == 0 and spans[-1]["end"] == len(row["text"])
        assert all(row["text"][one["end"] : other["start"]] in ("", "\n") for one, other in pairwise(spans))


@given(documents())
def test_no_chunk_exceeds_the_ceiling_and_only_a_single_unit_the_target(units: list[Unit]) -> None:
    for row in chunks(units):
        assert row["tokens"] == sum(count_words([row["text"][s["start"] : s["end"]] for s in row["units"]]))
        assert row["tokens"] <= (TARGET if len(row["units"]) > 1 else CEILING)


@given(documents())
def test_no_chunk_crosses_a_page_or_mixes_running_text_with_what_is_none(units: list[Unit]) -> None:
    for row in chunks(units):
        assert len({place.get("page") for place in locators(row)}) == 1
        assert len({tuple(known.get(name) for name in APART) for known in attributes(row)}) == 1


@given(documents())
def test_a_heading_follows_text_only_on_pages_and_only_a_small_section(units: list[Unit]) -> None:
    for row in chunks(units):
        spans = row["units"]
        for position, span in enumerate(spans):
            if span["kind"] == "heading" and set(kinds(row)[:position]) - {"heading"}:
                before = count_words([row["text"][s["start"] : s["end"]] for s in spans[:position]])
                assert sum(before) < SETTLED_SECTION
                assert locators(row)[0].get("page") is not None


@given(documents())
def test_each_part_of_a_divided_unit_stands_where_its_place_says(units: list[Unit]) -> None:
    whole = {each.text for each in units}
    for row in chunks(units):
        for span, place in zip(row["units"], locators(row), strict=True):
            start, end = place["characters"]
            part = row["text"][span["start"] : span["end"]]
            assert any(text[start:end] == part for text in whole)


def test_a_line_before_a_heading_of_a_page_joins_what_follows_and_takes_its_headings() -> None:
    docket = unit("[Docket No. FAA-2020-0686]", page=1, above=("Rules",))
    heading = unit("Airworthiness Directives", "heading", page=1, above=("Rules",))
    body = unit(WORD * 60, page=1, above=("Rules", "Airworthiness Directives"))
    (row,) = chunks([docket, heading, body])
    assert row["text"].startswith("[Docket No. FAA-2020-0686]\nAirworthiness Directives\nharbour")
    assert row["heading_path"] == ["Rules", "Airworthiness Directives"]


def test_a_section_that_says_enough_is_closed_by_the_next_heading_of_a_page() -> None:
    body = unit(WORD * SETTLED_SECTION, page=1)
    heading = unit("Next", "heading", page=1)
    assert [kinds(row) for row in chunks([body, heading])] == [["paragraph"], ["heading"]]


def test_sections_that_the_file_itself_marks_stay_apart_however_small() -> None:
    units = [unit("A", "heading"), unit("one", above=("A",)), unit("B", "heading"), unit("two", above=("B",))]
    assert [(row["text"], row["heading_path"]) for row in chunks(units)] == [("A\none", ["A"]), ("B\ntwo", ["B"])]


def test_a_chunk_of_headings_alone_names_the_last_of_them() -> None:
    units = [unit("A", "heading"), unit("B", "heading", above=("A",))]
    assert [row["heading_path"] for row in chunks(units)] == [["A", "B"]]


def test_a_unit_above_the_ceiling_is_divided_at_the_end_of_a_line() -> None:
    lines = [f"line {number} of the log says nothing" for number in range(60)]
    parts = [row["text"] for row in chunks([unit("\n".join(lines), "code")])]
    assert len(parts) > 1
    assert all(
        part.rstrip("\n").split("\n")[0] in lines and part.rstrip("\n").split("\n")[-1] in lines for part in parts
    )
