"""Single features of WordprocessingML, and packages made to do harm."""

from __future__ import annotations

import io
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tychora_functions.parse import docx
from tychora_functions.parse.docx.numbering import format_number
from tychora_functions.parse.docx.package import ENTRY_LIMIT, MARKUP_LIMIT
from tychora_schemas.errors import MalformedContent, NotFound, TychoraError, UnsupportedContent
from tychora_schemas.locator import Locator

NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
)
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def part(root: str, content: str) -> str:
    return f"<w:{root} {NAMESPACES}>{content}</w:{root}>"


def package(body: str = "", relations: dict[str, str] | None = None, **parts: str | bytes) -> bytes:
    """A .docx of a body and of further parts, `word/<name>.xml`, each in the relation of its name."""
    links = {name: f"{name}.xml" for name in parts} | (relations or {})
    listing = "".join(
        f'<Relationship Id="r{index}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for index, (kind, target) in enumerate(links.items())
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", part("document", f"<w:body>{body}</w:body>"))
        archive.writestr(
            "word/_rels/document.xml.rels",
            f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{listing}'
            "</Relationships>",
        )
        for name, content in parts.items():
            archive.writestr(f"word/{name}.xml", content)
    return buffer.getvalue()


def archive_of(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(content: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def texts(data: bytes) -> list[str]:
    document = docx.parse(data, "test.docx")
    for unit in document.units:
        assert docx.read_at(data, unit.place(0, len(unit.text))) == unit.text
    return [unit.text for unit in document.units]


FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("<w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:cr/><w:t>d</w:t></w:r>", "a\tb\nc\nd"),
        ("<w:r><w:t>a</w:t><w:noBreakHyphen/><w:t>b</w:t><w:softHyphen/><w:t>c</w:t></w:r>", "a\u2011b\u00adc"),
        ('<w:r><w:sym w:font="Symbol" w:char="F0B3"/><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>', "≥✓"),
        (f'<w:hyperlink r:id="r9">{run("link")}</w:hyperlink>{run("!")}', "link!"),
        (f"<w:sdt><w:sdtPr/><w:sdtContent>{run('held')}</w:sdtContent></w:sdt>", "held"),
        (f"<w:smartTag>{run('Oslo')}</w:smartTag><w:proofErr/>", "Oslo"),
        (f"<w:moveFrom>{run('old')}</w:moveFrom><w:moveTo>{run('new')}</w:moveTo>", "new"),
        (f"<w:ins><w:del>{run('never')}</w:del></w:ins>{run('kept')}", "kept"),
        (
            FIELD.format("begin")
            + "<w:r><w:instrText>PAGE</w:instrText></w:r>"
            + FIELD.format("separate")
            + run("12")
            + FIELD.format("end"),
            "12",
        ),
        (
            FIELD.format("begin")
            + FIELD.format("begin")
            + FIELD.format("separate")
            + run("hidden")
            + FIELD.format("end")
            + FIELD.format("separate")
            + run("shown")
            + FIELD.format("end"),
            "shown",
        ),
        (FIELD.format("begin") + run("a field that never ends"), "a field that never ends"),
        (
            f"<mc:AlternateContent><mc:Choice>{run('new form')}</mc:Choice><mc:Fallback>{run('old form')}"
            "</mc:Fallback></mc:AlternateContent>",
            "new form",
        ),
        (f"<mc:AlternateContent><mc:Fallback>{run('only form')}</mc:Fallback></mc:AlternateContent>", "only form"),
        (f"<w:ruby><w:rt>{run('kana')}</w:rt><w:rubyBase>{run('漢字')}</w:rubyBase></w:ruby>", "漢字"),
    ],
)
def test_what_a_paragraph_says(content: str, text: str) -> None:
    assert texts(package(paragraph(content)))[0] == text


def numbering(*levels: str, number: str = "") -> str:
    made = "".join(f'<w:lvl w:ilvl="{depth}">{level}</w:lvl>' for depth, level in enumerate(levels))
    return part(
        "numbering",
        f'<w:abstractNum w:abstractNumId="4">{made}</w:abstractNum>'
        f'<w:num w:numId="1"><w:abstractNumId w:val="4"/></w:num>'
        f'<w:num w:numId="2"><w:abstractNumId w:val="4"/>{number}</w:num>',
    )


def level(form: str, template: str, more: str = "") -> str:
    return f'<w:start w:val="1"/><w:numFmt w:val="{form}"/><w:lvlText w:val="{template}"/>{more}'


def item(depth: int, number: int = 1) -> str:
    return paragraph(run("x"), f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{number}"/></w:numPr>')


def labels(data: bytes) -> list[str]:
    return [
        unit.attributes.get("number") or unit.attributes.get("bullet", "")
        for unit in docx.parse(data, "test.docx").units
    ]


def test_numbers_of_several_levels_restart_below_a_higher_one() -> None:
    levels = level("upperRoman", "%1."), level("lowerLetter", "%1.%2)"), level("decimal", "%3", "<w:isLgl/>")
    made = numbering(*levels)
    data = package("".join(map(item, (0, 1, 1, 2, 0, 1))), numbering=made)
    assert labels(data) == ["I.", "I.a)", "I.b)", "1", "II.", "II.a)"]


def test_a_level_that_was_passed_over_counts_as_begun() -> None:
    made = numbering(level("decimal", "%1"), level("decimal", "%1.%2"), level("decimal", "%1.%2.%3"))
    assert labels(package("".join(map(item, (0, 2, 1))), numbering=made)) == ["1", "1.1.1", "1.2"]


def test_a_level_told_not_to_restart_counts_on() -> None:
    made = numbering(level("decimal", "%1"), level("decimal", "%2", '<w:lvlRestart w:val="0"/>'))
    assert labels(package("".join(map(item, (0, 1, 0, 1))), numbering=made)) == ["1", "1", "2", "2"]


def test_legal_numbers_are_decimal_throughout() -> None:
    made = numbering(level("upperRoman", "%1"), level("lowerLetter", "%1.%2", "<w:isLgl/>"))
    assert labels(package(item(0) + item(1), numbering=made)) == ["I", "1.1"]


def test_a_second_list_of_the_same_kind_starts_anew_only_where_it_says_so() -> None:
    start = '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride>'
    body = "".join(item(0, number) for number in (1, 1, 2, 2))
    assert labels(package(body, numbering=numbering(level("decimal", "%1"), number=start))) == ["1", "2", "7", "8"]
    assert labels(package(body, numbering=numbering(level("decimal", "%1")))) == ["1", "2", "3", "4"]


def test_numbered_cells_and_empty_list_paragraphs_count() -> None:
    made = numbering(level("decimal", "%1."))
    properties = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>'
    cells = [row(paragraph("", properties), paragraph(run(name))) for name in "ab"]
    data = package(table(*cells) + paragraph("", properties) + item(0), numbering=made)
    assert labels(data) == ["1.", "2.", "4."]


def test_localised_heading_styles_are_known_by_name_and_by_inheritance() -> None:
    styles = part(
        "styles",
        '<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Kapitel"><w:name w:val="Kapitel"/>'
        '<w:basedOn w:val="berschrift1"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Loop"><w:basedOn w:val="Loop"/></w:style>'
        '<w:style w:type="paragraph" w:styleId="Clause"><w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>',
    )
    names = "berschrift1", "Kapitel", "Clause", "Loop"
    body = "".join(paragraph(run(name), f'<w:pStyle w:val="{name}"/>') for name in names)
    units = docx.parse(package(body, styles=styles), "test.docx").units
    assert [(unit.kind, unit.level) for unit in units] == [
        ("heading", 1),
        ("heading", 1),
        ("heading", 2),
        ("paragraph", 0),
    ]
    assert units[-1].heading_path == ("Kapitel", "Clause")


def table(*rows: str) -> str:
    return f"<w:tbl>{''.join(rows)}</w:tbl>"


def row(*cells: str, properties: str = "") -> str:
    made = "".join(f"<w:tc>{cell}</w:tc>" for cell in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{made}</w:tr>"


def test_a_struck_table_row_is_a_deletion() -> None:
    cells = paragraph(run("a")), paragraph(run("b"))
    struck = row(*cells, properties='<w:del w:author="Z" w:date="2020-01-01T00:00:00Z"/>')
    units = docx.parse(package(table(row(*cells), struck) + paragraph(run("after"))), "test.docx").units
    assert [unit.text for unit in units] == ["a | b", "after", "a | b"]
    assert units[-1].kind == "note" and units[-1].attributes["author"] == "Z"


def test_a_table_of_one_cell_is_a_frame_around_text() -> None:
    assert texts(package(table(row(paragraph(run("a")) + paragraph(run("b")))))) == ["a", "b"]


def test_marked_header_rows_stand_over_the_others() -> None:
    head = row(paragraph(run("1")), paragraph(run("2")), properties="<w:tblHeader/>")
    units = docx.parse(package(table(head, row(paragraph(run("3")), paragraph(run("4"))))), "test.docx").units
    assert [unit.attributes for unit in units] == [{}, {"header": "1 | 2"}]


def test_the_strict_variant_reads_like_the_usual_one() -> None:
    usual = package(paragraph(run("strict")))
    with zipfile.ZipFile(io.BytesIO(usual)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["word/document.xml"] = members["word/document.xml"].replace(
        b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        b"http://purl.oclc.org/ooxml/wordprocessingml/main",
    )
    assert texts(archive_of(members)) == ["strict"]


@given(st.integers(1, 3999))
def test_roman_numbers_count_back(value: int) -> None:
    worth = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
    digits = [worth[letter] for letter in format_number(value, "lowerRoman")]
    assert value == sum(
        -digit if digit < after else digit for digit, after in zip(digits, [*digits[1:], 0], strict=True)
    )


def test_number_formats() -> None:
    assert [format_number(n, "upperLetter") for n in (1, 26, 27, 53)] == ["A", "Z", "AA", "AAA"]
    assert [format_number(n, "ordinal") for n in (1, 2, 3, 4, 11, 112, 121)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "112th",
        "121st",
    ]
    assert [format_number(n, "chineseCounting") for n in (3, 10, 11, 20, 35)] == ["三", "十", "十一", "二十", "三十五"]
    assert [format_number(10**8, form) for form in ("upperRoman", "lowerLetter", "new")] == ["100000000"] * 3


# Harm.

BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PK\x03\x04",
        b"no zip at all",
        archive_of({"a.txt": b"x"}),
        archive_of({"word/document.xml": b""}),
        archive_of({"word/document.xml": b"<a>"}),
        archive_of({"word/document.xml": b"<a/>"}),
        archive_of({"word/document.xml": BOMB + b"<x>&b;</x>"}),
        archive_of({"word/document.xml": (BOMB + b"<x>&b;</x>").decode().encode("utf-16")}),
        archive_of({"word/document.xml": b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>'}),
        archive_of({"word/document.xml": b"<w/>" * 4 + b"<"}),
        archive_of({f"{number}": b"" for number in range(ENTRY_LIMIT + 1)}),
        package(paragraph(run("cut")))[:-30],
        package("<w:sdt>" * 5000 + "</w:sdt>" * 5000),
    ],
    ids=range(14),
)
def test_what_is_no_word_document_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedContent) as refusal:
        docx.parse(data, "test.docx")
    assert refusal.value.next_step


def test_elements_nested_as_deep_as_the_reader_allows_end_in_a_refusal_or_a_text() -> None:
    for depth in (100, 240, 300, 1500):
        data = package(paragraph("<w:smartTag>" * depth + run("deep") + "</w:smartTag>" * depth))
        try:
            assert texts(data) == ["deep"]
        except MalformedContent:
            assert depth > 200


def test_encrypted_and_old_files_say_what_to_do() -> None:
    magic = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(600)
    with pytest.raises(UnsupportedContent, match="docx"):
        docx.parse(magic, "old.doc")
    with pytest.raises(UnsupportedContent, match="password"):
        docx.parse(magic + "EncryptedPackage".encode("utf-16-le"), "locked.docx")


BLANKS = b" " * 30_000_000


def test_a_part_that_inflates_absurdly_is_refused() -> None:
    with pytest.raises(MalformedContent, match="times smaller"):
        docx.parse(archive_of({"word/document.xml": b"<w>" + BLANKS + b"</w>"}), "test.docx")


def test_a_side_part_that_inflates_absurdly_is_left_out() -> None:
    document = docx.parse(package(paragraph(run("body")), footnotes=BLANKS), "test.docx")
    assert [unit.text for unit in document.units] == ["body"] and "footnotes" in document.warnings[0]


def test_no_more_of_a_part_is_inflated_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tychora_functions.parse.docx.package.PART_LIMIT", 1_000_000)
    data = archive_of({"word/document.xml": BLANKS})
    tracemalloc.start()
    with pytest.raises(MalformedContent, match="more than 1000000 bytes"):
        docx.parse(data, "test.docx")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_a_part_of_too_many_tags_is_refused() -> None:
    data = archive_of({"word/document.xml": b"<a>" + b"<b/>" * MARKUP_LIMIT + b"</a>"})
    with pytest.raises(MalformedContent):
        docx.parse(data, "test.docx")


def test_side_parts_that_are_broken_or_missing_leave_the_body_and_a_warning() -> None:
    data = package(
        paragraph(run("body")),
        relations={"comments": "gone.xml", "endnotes": "../../../etc/passwd", "settings": "//x"},
        styles="<broken",
        numbering=BOMB + b"<x>&b;</x>",
        footnotes="<w:footnotes/>",
    )
    document = docx.parse(data, "test.docx")
    assert [unit.text for unit in document.units] == ["body"]
    assert len(document.warnings) == 3


NOWHERE = (
    *("", "body", "body/p[2]", "body/p[0]", "p[1]", "/body/p[1]", "body/p[1]//del[1]", "body//del[1]", "body/p[1]/.."),
    *("body/p[1]//docPr[1]/x", "body/p[1]..body/p[9]", "..", "body/p[1]x", "body/p[99999999999]"),
)


@pytest.mark.parametrize("path", NOWHERE)
def test_a_path_that_leads_nowhere_is_not_found(path: str) -> None:
    data = package(paragraph(run("one")))
    with pytest.raises(NotFound):
        docx.read_at(data, Locator(part="word/document.xml", path=path))


@given(st.data())
def test_damaged_files_give_a_document_or_a_typed_error(data: st.DataObject) -> None:
    whole = bytearray(package(paragraph(run("x")) + item(0), numbering=numbering(level("decimal", "%1"))))
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        docx.parse(bytes(whole[: data.draw(st.integers(0, len(whole)))]), "test.docx")
    except TychoraError as error:
        assert error.next_step
