"""A place read again gives its quote, and lies on the page as displayed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_checks import NAMES, content, document, made, page_of, shown, single_blanks

from tychora_functions.parse import pdf
from tychora_functions.parse.pdf import opening, reading
from tychora_functions.parse.units import Document, Unit
from tychora_schemas.errors import TychoraError

AMBIGUOUS = {"habibi-rotated.pdf"}
"""Letters of two scripts drawn over each other: a box cannot hold one without the other."""

FIRST_PAGES = 5
"""Pages of a file that are read again."""


def differing(data: bytes, parsed: Document) -> list[str]:
    """The texts of units on the first pages that their places do not give again."""
    found = []
    by_page: dict[int | None, list[Unit]] = {}
    for unit in parsed.units:
        by_page.setdefault(page_of(unit), []).append(unit)
    with opening.open_document(data, "x") as opened:
        for number in range(1, min(len(opened), FIRST_PAGES) + 1):
            with opening.open_page(opened, number - 1) as page:
                if page is None:
                    continue
                glyphs, parts = reading.visible_fragments(page)
                for unit in by_page.get(number, []):
                    place = unit.place(0, len(unit.text))
                    if place.path is None:
                        again = "\n".join(reading.line_in(glyphs, parts, box) for box in place.boxes or ())
                        if single_blanks(again) != single_blanks(unit.text):
                            found.append(unit.text)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_every_unit_reads_the_same_again(name: str) -> None:
    assert differing(content(name), document(name)) == []


def test_units_of_the_corpus_read_the_same_again_but_for_stacked_formulas(shared_folder: Path) -> None:
    """Of all units at most one in two hundred differs, where matrices and fractions are drawn over each other."""
    total = bad = 0
    for path in sorted((shared_folder / "corpus" / "pdf").glob("*.pdf")):
        if path.name in NAMES or path.stat().st_size > 700_000:
            continue
        try:
            parsed = pdf.parse(path.read_bytes(), path.name)
        except TychoraError:
            continue
        total += sum((page_of(unit) or 0) <= FIRST_PAGES for unit in parsed.units)
        bad += len(differing(path.read_bytes(), parsed))
    assert total > 400 and bad * 200 <= total


@settings(max_examples=40)
@given(st.data())
def test_any_part_of_a_unit_reads_the_same_again(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in NAMES if name not in AMBIGUOUS and "bad_page" not in name]))
    unit = data.draw(st.sampled_from(document(name).units))
    start = data.draw(st.integers(0, len(unit.text) - 1))
    end = data.draw(st.integers(start + 1, len(unit.text)))
    again = pdf.read_at(content(name), unit.place(start, end))
    assert single_blanks(again) == single_blanks(unit.text[start:end])


@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_boxes_are_in_displayed_space_with_the_crop_box_at_its_origin(turn: int) -> None:
    """The word stands 10 points right of and 80 below the top left corner of the crop box, before the page turns."""
    data = made(shown("mark", 60, 100, 10), extra=f"/CropBox [50 20 250 180] /Rotate {turn}")
    unit = pdf.parse(data, "x").units[0]
    box = (unit.place(0, 4).boxes or ())[0]
    width = 22.2
    corners = {
        0: (10, 80 - 8, 10 + width, 80 + 2.2),
        90: (160 - 82.2, 10, 160 - 72, 10 + width),
        180: (200 - 10 - width, 160 - 82.2, 190, 160 - 72),
        270: (72, 200 - 10 - width, 82.2, 190),
    }
    assert (box.x0, box.y0, box.x1, box.y1) == pytest.approx(corners[turn], abs=0.3)
    assert pdf.read_at(data, unit.place(0, 4)) == "mark"


def test_boxes_of_a_part_of_a_line_narrow_to_its_characters() -> None:
    unit = pdf.parse(made(shown("one two three")), "x").units[0]
    whole, two = (unit.place(*span).boxes or () for span in ((0, 13), (4, 7)))
    assert whole[0].x0 < two[0].x0 < two[0].x1 < whole[0].x1


def test_labels_stand_beside_the_index_only_where_they_differ() -> None:
    assert document("ledger-12p.pdf").units[0].place(0, 1).page_label is None
