"""What a page's layout says: rows, columns, headings, furniture, hidden text, notes."""

from __future__ import annotations

import pytest
from pdf_checks import content, document, made, page_of, shown, texts

from tychora_functions.parse import pdf


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("nics-background-checks-2015-11-rotated.pdf", "Kentucky 264,140 12,155 14,847 254 648 1 9 11 0 1,491"),
        ("nics-background-checks-2015-11-rotated.pdf", "Illinois 87,190 24,412"),
        ("senate-expenditures.pdf", "DHAW20190001 05/03/2019 CITIBANK - TRAVEL CBA CARD 03/04/2019 03/06/2019 STAFF"),
        ("2305.03393v1-pg9.pdf", "6 6 OTSL 0.965 0.934 0.955 0.88 2.73"),
        ("word365_structure.pdf", "Ligne 1 Alouette Farfadet"),
    ],
)
def test_a_table_row_is_one_line(name: str, row: str) -> None:
    lines = [line for text in texts(document(name).units, "table_row") for line in text.split("\n")]
    assert any(line.startswith(row) for line in lines)


def test_header_lines_are_told_for_the_rows_below_them() -> None:
    rows = [unit for unit in document("word365_structure.pdf").units if unit.kind == "table_row"]
    assert [row.attributes.get("header") for row in rows] == [None, *["En-tête 1 En-tête 2 En-tête 3"] * 2]


def test_columns_of_list_entries_with_leaders_are_not_read_across() -> None:
    entries = texts(document("testPDF_bad_page_303226.pdf").units, "list_item")
    assert any(text.startswith("(26) Psilocyn .") and text.endswith("7438") for text in entries)
    assert any(text.startswith("(32) Levomoramide") and text.endswith("9629") for text in entries)


def test_two_text_boxes_side_by_side_read_as_columns() -> None:
    text = "\n".join(texts(document("testPDFTwoTextBoxes.pdf").units))
    assert text == "Left column line 1\nLeft column line 2\nRight column line 1\nRight column line 2"


def test_a_short_two_column_table_is_not_torn() -> None:
    cells = [("Colour of the door", "Weight of it"), ("Red as a poppy", "12 kg"), ("Green as grass", "15 kg")]
    stream = " ".join(shown(a, 20, 150 - 14 * n) + shown(b, 180, 150 - 14 * n) for n, (a, b) in enumerate(cells))
    assert texts(pdf.parse(made(stream), "x").units)[1] == "Red as a poppy 12 kg"


def test_numbers_of_lines_in_the_margin_are_furniture_and_not_in_the_text() -> None:
    units = document("scotus-transcript-p1.pdf").units
    body = "\n".join(unit.text for unit in units if "furniture" not in unit.attributes)
    assert "STEVEN E. MERCER, ESQ., Deputy Attorney General, Los\nAngeles, Cal.; on behalf" in body
    assert [unit.text for unit in units if "furniture" in unit.attributes][-25:] == [str(n) for n in range(1, 26)]


def test_the_outline_gives_headings_their_depth() -> None:
    units = document("bookmark_sample.pdf").units
    payment = next(unit for unit in units if unit.text == "3.1 Payment Schedule")
    assert payment.kind == "heading" and page_of(payment) == 2
    assert payment.heading_path == ("PART II - OBLIGATIONS", "3. Payment Terms")


def test_larger_and_bold_lines_are_headings_and_body_text_is_none() -> None:
    body = "The quick brown fox jumps over the lazy dog."
    stream = shown("Harbour dues", 20, 170, 18) + shown("Small boats", 20, 140, 11, "F2")
    stream += " ".join(shown(body, 20, 120 - 13 * n, 11) for n in range(4))
    found = pdf.parse(made(stream), "x")
    assert [(unit.kind, unit.level) for unit in found.units] == [("heading", 1), ("heading", 2), ("paragraph", 0)]
    assert found.units[2].heading_path == ("Harbour dues", "Small boats")
    assert found.title == "Harbour dues"


@pytest.mark.parametrize(
    "stream",
    [
        shown("secret", before="3 Tr"),
        shown("secret", before="1 1 1 rg"),
        shown("secret", size=0.4),
        shown("secret", x=-200),
    ],
    ids=["no ink", "white on white", "too small", "off the page"],
)
def test_hidden_text_is_kept_and_marked(stream: str) -> None:
    found = pdf.parse(made(shown("seen", 20, 50) + " q " + stream + " Q"), "x")
    assert {unit.text: unit.attributes.get("hidden") for unit in found.units} == {"seen": None, "secret": "true"}
    assert found.warnings == ["pages with hidden text: 1"]


def test_white_text_on_a_dark_bar_is_seen() -> None:
    found = pdf.parse(made("0 0 0.5 rg 0 90 300 40 re f " + shown("banner", before="1 1 1 rg")), "x")
    assert [unit.attributes for unit in found.units] == [{}]


def test_an_invisible_layer_is_marked() -> None:
    marked = [unit.text for unit in document("invisible_text_layer.pdf").units if "hidden" in unit.attributes]
    assert marked == ["Invisible OCR text layer"]


def test_annotations_and_form_values_are_notes_that_can_be_read_again() -> None:
    for name in ("annotated_pdf.pdf", "libreoffice-form.pdf"):
        notes = [unit for unit in document(name).units if unit.kind == "note"]
        assert notes
        for note in notes:
            place = note.place(0, len(note.text))
            assert place.boxes and pdf.read_at(content(name), place) == note.text
            assert pdf.read_at(content(name), note.place(0, 1)) == note.text[:1]


def test_attached_files_are_named() -> None:
    assert document("with-attachment.pdf").warnings == ["the attached file 'image.png' was not read"]


def test_right_to_left_text_keeps_its_logical_order() -> None:
    first = document("right_to_left_01.pdf").units[0].text
    assert first.startswith("تحسين") and "Python" in first


def test_units_stay_on_one_page_and_within_their_limit() -> None:
    for name in ("testPDF_bad_page_303226.pdf", "ledger-12p.pdf"):
        for unit in document(name).units:
            place = unit.place(0, len(unit.text))
            assert {box.page for box in place.boxes or ()} <= {place.page}
            assert len(unit.text) <= 2_000
