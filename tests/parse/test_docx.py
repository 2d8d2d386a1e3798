"""Word documents as found in the world: what becomes a unit, where it stands, and that it can be read again."""

from __future__ import annotations

import io
import json
import random
import zipfile
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from tychora_functions.parse import docx
from tychora_functions.parse.units import Document, Unit

DATA = Path(__file__).resolve().parents[1] / "data" / "docx"
FILES = sorted(path.name for path in DATA.glob("*.docx"))
WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
NOT_SHOWN = {"Fallback", "footnote", "endnote"}


@cache
def read(name: str) -> tuple[bytes, Document]:
    data = (DATA / name).read_bytes()
    return data, docx.parse(data, name)


def texts(document: Document, **attributes: str) -> list[str]:
    wanted = attributes.items()
    return [unit.text for unit in document.units if wanted <= unit.attributes.items()]


def one(document: Document, text: str) -> Unit:
    found = [unit for unit in document.units if text in unit.text]
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize("name", FILES)
def test_every_unit_reads_again_to_its_text(name: str) -> None:
    data, document = read(name)
    assert document.kind == "document" and document.units and not document.warnings
    for unit in document.units:
        locator = unit.place(0, len(unit.text))
        assert locator.transform == "docx" and locator.characters is None and locator.bytes is None
        assert docx.read_at(data, locator) == unit.text


@pytest.mark.parametrize("name", FILES)
def test_units_have_places_of_their_own(name: str) -> None:
    places = [(place.part, place.path) for unit in read(name)[1].units for place in [unit.place(0, 1)]]
    assert len(set(places)) == len(places)


@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
def test_any_part_of_a_unit_reads_again_to_itself(name: str, choice: random.Random) -> None:
    data, document = read(name)
    unit = choice.choice(document.units)
    start, end = sorted(choice.choices(range(len(unit.text) + 1), k=2))
    assert docx.read_at(data, unit.place(start, end)) == unit.text[start:end]


@given(st.sampled_from(FILES), st.randoms(use_true_random=False))
def test_a_run_of_units_of_one_part_reads_as_their_texts_joined(name: str, choice: random.Random) -> None:
    data, document = read(name)
    parts = [unit.place(0, len(unit.text)).part for unit in document.units]
    part = choice.choice(parts)
    units = [unit for unit, of in zip(document.units, parts, strict=True) if of == part]
    first, last = sorted(choice.choices(range(len(units)), k=2))
    ends = [units[index].place(0, len(units[index].text)) for index in (first, last)]
    joined = "\n".join(unit.text for unit in units[first : last + 1])
    run = ends[0].model_copy(update={"path": f"{ends[0].path}..{ends[1].path}"})
    assert docx.read_at(data, run) == joined
    start, end = sorted(choice.choices(range(len(joined) + 1), k=2))
    assert docx.read_at(data, run.model_copy(update={"characters": (start, end)})) == joined[start:end]


@pytest.mark.parametrize("name", FILES)
def test_no_run_of_the_body_is_lost(name: str) -> None:
    """Read another way: each text element that is neither an alternative's second form is in some unit."""
    data, document = read(name)
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        root = etree.fromstring(package.read("word/document.xml"))
    everything = "\0".join(unit.text for unit in document.units)
    for element in root.iter(f"{WORD}t", f"{WORD}delText"):
        names = {etree.QName(above).localname for above in element.iterancestors()}
        if not names & NOT_SHOWN and (element.text or "").strip():
            assert element.text in everything


def test_tracked_changes_leave_the_current_text_and_keep_what_was_struck_apart() -> None:
    _, document = read("lease.docx")
    current = [unit.text for unit in document.units if unit.attributes.get("revision") != "deleted"]
    assert current == ["Lease", "The yearly fee is 5,200 crowns.", "The tenant keeps the boathouse dry."]
    deleted = {text: one(document, text) for text in ("4,800", "two dogs")}
    for unit in deleted.values():
        assert unit.kind == "note" and unit.attributes["revision"] == "deleted"
        assert unit.heading_path == ("Lease",)
    assert deleted["4,800"].attributes["author"] == "A. Reader"
    assert deleted["4,800"].place(0, 5).path == "body/p[2]//del[1]"
    assert deleted["two dogs"].attributes["date"].startswith("2026-01-06")
    assert one(document, "boathouse").attributes["revision"] == "inserted"


def test_deletions_over_several_runs_are_one_text() -> None:
    _, document = read("delins.docx")
    unit = one(document, "Tika Waylan")
    assert unit.text == "Tika Waylan, a major character in the DragonLance series of fantasy novels"
    assert unit.attributes == {"revision": "deleted", "author": "pavel", "date": "2009-07-24T15:05:00Z"}
    assert "HYPERLINK" not in "".join(unit.text for unit in document.units)


def test_notes_and_comments_are_units_of_their_own_parts() -> None:
    footnote = one(read("table_footnotes.docx")[1], "snoska")
    assert (footnote.kind, footnote.place(0, 1).part) == ("note", "word/footnotes.xml")
    assert footnote.attributes == {"number": "1"}
    endnote = one(read("endnotes.docx")[1], "XXX")
    assert (endnote.place(0, 1).part, endnote.attributes["number"]) == ("word/endnotes.xml", "i")
    _, document = read("docx_comments.docx")
    comment = one(document, "This is a sample reviewer comment on the first paragraph.")
    assert (comment.kind, comment.place(0, 1).part) == ("note", "word/comments.xml")
    assert comment.attributes == {"author": "John Reviewer", "date": "2026-01-04T05:48:07Z"}
    assert comment.heading_path == ("Document with Comments",)


def test_headers_and_footers_are_furniture() -> None:
    _, document = read("docx_page_header_footer_first_page.docx")
    furniture = texts(document, furniture="true")
    assert furniture[0] == "FIRST PAGE HEADER (page 1 only)" and len(furniture) == 4
    assert one(document, "REGULAR FOOTER").place(0, 1).part == "word/footer2.xml"


def test_automatic_numbers_are_in_the_heading_path_but_not_in_the_text() -> None:
    _, document = read("unit_test_headers_numbered.docx")
    heading = next(unit for unit in document.units if unit.text == "Section 1.2.3")
    assert (heading.kind, heading.level, heading.attributes["number"]) == ("heading", 3, "1.2.1.")
    assert heading.heading_path == ("1. Section 1", "1.2. Section 1.2")
    assert one(document, "Third sub-item").attributes["number"] == "2.3.8.3."


def test_lists_restart_where_the_file_says_so() -> None:
    _, document = read("ComplexNumberedLists.docx")
    numbers = [unit.attributes["number"] for unit in document.units if unit.kind == "list_item"]
    assert numbers == ["1.", "2.", "a.", "b.", "c.", "3.", "4.", "1.", "2.", "3.", "10.", "11.", "12.", "13."]


def test_cells_keep_their_columns_where_others_span() -> None:
    _, document = read("word_tables.docx")
    row = one(document, "Merged Cell 1.1 1.2 |  | Cell 1.3")
    assert row.kind == "table_row" and row.text.startswith("Cell 1.0 | ")
    assert row.attributes["header"] == "Header 0.0 | Header 0.1 | Header 0.2 | Header 0.3"
    assert " | Cell 1.1" in texts(document), "a row that starts in the second column"


def test_nested_tables_follow_the_row_that_holds_them() -> None:
    _, document = read("docx-tables.docx")
    rows = [unit.text for unit in document.units if unit.kind == "table_row"]
    assert rows[2:7] == ["a | >b< | c", "d |  | i", "e | f", "g&t | h", "j | k | l"]
    assert one(document, "g&t").place(0, 1).path == "body/tbl[2]/tr[2]/tc[2]/tbl[1]/tr[2]"


def test_text_boxes_are_read_once() -> None:
    _, document = read("textbox.docx")
    assert one(document, "Student falls ill").place(0, 1).path == "body/p[4]//txbxContent[1]/p[1]"


def test_equations_are_lines_of_text() -> None:
    _, document = read("equations.docx")
    assert "f(x)=a_0+∑_(n=1)^∞ (a_ncos nπx/L+b_nsin nπx/L)" in texts(document)
    assert "First item with inline equation: A=πr^2 is the area formula." in texts(document)


def test_alternative_texts_of_drawings_are_figures() -> None:
    figure = one(read("word_sample.docx")[1], "A cartoon duck")
    assert (figure.kind, figure.place(0, 1).path) == ("figure", "body/p[4]//docPr[1]")


def test_title_is_the_properties_or_else_the_title_paragraph() -> None:
    assert read("word_sample.docx")[1].title == "Swimming in the lake"
    assert read("IllustrativeCases.docx")[1].title == "(V) ILLUSTRATIVE CASES"
    assert read("lease.docx")[1].title is None


def test_the_long_handbook_reads_again_and_answers_its_question(shared_folder: Path) -> None:
    data = (shared_folder / "corpus" / "docx" / "handbook-872p.docx").read_bytes()
    document = docx.parse(data, "handbook-872p.docx")
    assert len(document.units) > 4500
    appointed = [unit for unit in document.units if "appoints and supervises standing trustees" in unit.text]
    assert appointed[0].heading_path[-1] == "A.\tPURPOSE"
    for unit in random.Random(7).sample(document.units, 5):
        assert docx.read_at(data, unit.place(0, len(unit.text))) == unit.text


def test_the_questions_on_word_files_are_answered_in_one_unit(shared_folder: Path) -> None:
    lines = (shared_folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    asked = [question for line in lines if (question := json.loads(line)).get("source", "").startswith("docx/")]
    assert asked
    for question in asked:
        data = (shared_folder / "corpus" / question["source"]).read_bytes()
        expected = question["expected"]
        assert any(
            question["quote"] in unit.text
            and unit.place(0, 1).part == expected.get("part", unit.place(0, 1).part)
            and expected.get("heading", "") in (*unit.heading_path, "")
            and ("note" not in expected or unit.attributes.get("revision") == "deleted")
            for unit in docx.parse(data, question["source"]).units
        ), question["id"]
