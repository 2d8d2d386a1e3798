"""Delimited tables: records are raw text, values never change."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_checks import CASES, CORPUS, reads_back, tiles

from tychora_functions.parse import tabular
from tychora_functions.parse.tabular import fields

CELLS = st.text(alphabet='ab1,;"\n é中', max_size=6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(CELLS, min_size=2, max_size=4), min_size=1, max_size=8),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r\n"]),
)
def test_units_tile_the_file_and_read_back(rows: list[list[str]], delimiter: str, line_end: str) -> None:
    held = io.StringIO()
    csv.writer(held, delimiter=delimiter, lineterminator=line_end).writerows(rows)
    data = held.getvalue().encode()
    document = tabular.parse(data, "a.csv")
    tiles(data, document)
    reads_back(data, document, tabular.read_at)


@settings(max_examples=40, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_fields_are_what_a_csv_writer_wrote(row: list[str], delimiter: str) -> None:
    held = io.StringIO()
    csv.writer(held, delimiter=delimiter, lineterminator="", quoting=csv.QUOTE_ALL).writerow(row)
    assert fields(held.getvalue(), delimiter) == row


def test_identifiers_stay_the_text_that_they_are() -> None:
    data = (CASES / "15-csv-identifier-columns" / "accounts.csv").read_bytes()
    document = tabular.parse(data, "accounts.csv")
    tiles(data, document)
    header, *rows = document.units
    assert header.attributes["role"] == "header"
    assert [unit.text for unit in rows] == [
        "0010,00042,INV-0007,021000021,05112025,125.50,NA",
        '"0100","007","000123",011000015,01022026,50,N',
        '0010,1e5,12-11,121000248,03031999,"1,250.00",TRUE',
    ]
    assert {unit.attributes["header"] for unit in rows} == {header.text}
    names = fields(header.text, ",")
    table = [dict(zip(names, fields(unit.text, ","), strict=True)) for unit in rows]
    assert [row["account"] for row in table] == ["0010", "0100", "0010"]
    assert [row["centre"] for row in table] == ["00042", "007", "1e5"]
    assert [row["flag"] for row in table] == ["NA", "N", "TRUE"]
    assert table[2]["amount"] == "1,250.00"
    at = rows[1].text.index("000123")
    start, end = rows[1].place(at, at + 6).bytes or (0, 0)
    assert data[start:end] == b"000123"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_consistent_one(delimiter: str) -> None:
    rows = [["name", "note", "price"], ["Ann", "a, b; c", "1,50"], ["Bob", "none", "2,75"], ["Cy", '"', "3,00"]]
    held = io.StringIO()
    csv.writer(held, delimiter=delimiter).writerows(rows)
    document = tabular.parse(held.getvalue().encode(), "a.csv")
    assert {unit.attributes["delimiter"] for unit in document.units} == {delimiter}


def test_a_quoted_line_end_belongs_to_its_record() -> None:
    data = b'id,text\n1,"two\nlines ""quoted"""\n2,x\n'
    document = tabular.parse(data, "a.csv")
    assert document.units[1].text == '1,"two\nlines ""quoted"""'
    assert document.units[1].place(0, 5).lines == (2, 2)
    assert document.units[2].place(0, 1).lines == (4, 4)


def test_a_stray_quote_swallows_nothing() -> None:
    data = b'size,name\n5" disk,a\n"open,b\n3,c\n'
    document = tabular.parse(data, "a.csv")
    assert [unit.text for unit in document.units] == ["size,name", '5" disk,a', '"open,b', "3,c"]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("name,age\nAnn,7\nBob,8\n", "name,age"),
        ("1,2\n3,4\n5,6\n", None),
        ("Ann,Rome\nBob,Rome\nAnn,Bonn\n", None),
        ("name,city\nAnn,Rome\nBob,Bonn\n", "name,city"),
        ("1,2,3\na,b,c\nd,e,f\n", "1,2,3"),
        ("only,record\n", None),
        ("a,a\n1,2\n", None),
    ],
)
def test_a_header_is_told_by_what_stands_under_it(text: str, header: str | None) -> None:
    units = tabular.parse(text.encode(), "a.csv").units
    assert units[0].attributes.get("header") == header
    assert ("role" in units[0].attributes) == (header is not None)


def test_a_title_above_the_table_is_a_note_and_ragged_records_are_reported() -> None:
    data = b"sep=;\nYearly report\n\nname;age\nAnn;7\nBob;8\nCy\n"
    document = tabular.parse(data, "a.csv")
    tiles(data, document)
    assert [unit.kind for unit in document.units] == ["note", "note", *["table_row"] * 4]
    assert document.units[3].attributes["header"] == "name;age"
    assert document.warnings == ["1 of 4 records do not have 2 fields."]


def test_every_corpus_table_tiles_and_reads_back() -> None:
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not here")
    for file in sorted(CORPUS.rglob("*.csv")):
        data = file.read_bytes()
        document = tabular.parse(data, file.name)
        tiles(data, document)
        reads_back(data, document, tabular.read_at, parts=1)
        assert document.units[0].attributes["role"] == "header"
        assert not document.warnings
