"""Situations in which text of PDF files is commonly lost, torn or misplaced."""

from __future__ import annotations

import re

from pdf_checks import document, page_of, single_blanks, texts

from tychora_functions.parse.normal import normalised


def test_every_code_of_a_tall_table_cell_stays_in_its_row() -> None:
    rows = [unit for unit in document("parts.pdf").units if unit.kind == "table_row"]
    assert [len(re.findall(r"KX-\d{5}", row.text)) for row in rows] == [0, 7, 7, 7]
    assert {row.attributes.get("header") for row in rows[1:]} == {"Item Details Alloy Grade Plant code"}
    last = [row.place(at := row.text.index("KX-88812"), at + 8) for row in rows[1:]]
    assert [place.page for place in last] == [1, 1, 1]
    tops = [place.boxes[0].y0 for place in last if place.boxes]
    assert len(tops) == 3 and tops == sorted(set(tops))


def test_columns_read_one_after_the_other_and_the_footer_stands_apart() -> None:
    units = document("minutes.pdf").units
    body = single_blanks(" ".join(unit.text for unit in units if "furniture" not in unit.attributes))
    assert body.startswith("Minutes of the harbour board 1. Opening.")
    assert "postponed the question and turned to the dredging contract." in body
    assert body.index("1. Opening") < body.index("2. Dredging")
    assert [unit.text for unit in units if "furniture" in unit.attributes] == ["Harbour board - page 1"]


def test_page_numbers_count_empty_pages_and_running_lines_are_furniture() -> None:
    parsed = document("ledger-12p.pdf")
    found = {
        int(match[1]): page_of(unit) for unit in parsed.units if (match := re.search(r"Marker PG-0(\d\d)", unit.text))
    }
    assert found == {number: number for number in (1, 2, 4, 5, 6, 8, 9, 10, 11, 12)}
    assert parsed.warnings == ["pages without text: 3, 7"]
    running = [unit for unit in parsed.units if re.search(r"confidential draft|page \d+ of 12", unit.text)]
    assert len(running) == 20 and all(unit.attributes == {"furniture": "true"} for unit in running)
    assert not any("Marker" in unit.text and "page" in unit.text for unit in parsed.units)


def test_ligatures_and_divided_words_are_found_whole() -> None:
    units = document("leaflet.pdf").units
    text = " ".join(normalised(unit.text) for unit in units)
    words = ["efficient", "office", "files", "certified", "flow", "fördert", "Immobilienfonds", "Wertpapiere"]
    for word in [*words, "well-known"]:
        assert word in text
    raw = next(unit for unit in units if "Immobi" in unit.text)
    start = raw.text.index("Immobi")
    place = raw.place(start, raw.text.index("fonds", start) + 5)
    assert place.boxes is not None and len(place.boxes) == 2
    assert "\ufffe\n" in raw.text


def test_both_copies_of_a_repeated_page_are_kept() -> None:
    trucks = [unit for unit in document("fake-memo-with-duplicate-page.pdf").units if "3 trucks" in unit.text]
    assert [page_of(unit) for unit in trucks] == [1, 2]


def test_letters_drawn_twice_are_read_once() -> None:
    assert "BOLD TEXT SAMPLE" in "\n".join(texts(document("fake-bold-sample.pdf").units))
