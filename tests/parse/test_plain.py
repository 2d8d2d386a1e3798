"""Plain text: paragraphs whose bytes are literal, and headings only where there is no doubt."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_checks import CASES, CORPUS, reads_back, tiles

from tychora_functions.parse import plain

PIECES = [
    "log entry one",
    "größe 😀 第一条。",
    "cafe\u0301 au lait",
    "Title",
    "=====",
    "  indented",
    "\x0c",
    "\u2028x",
    "",
    "",
]
PREFIXES = {"utf-8": b"", "utf-8-sig": b"", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "cp1252": b""}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["\n", "\r\n", "\r"])), max_size=30),
    st.sampled_from(sorted(PREFIXES)),
)
def test_units_tile_the_text_and_read_back_whatever_its_bytes(lines: list[tuple[str, str]], encoding: str) -> None:
    text = "".join(line + end for line, end in lines)
    data = PREFIXES[encoding] + text.encode(encoding, "ignore")
    document = plain.parse(data, "a.txt")
    tiles(data, document)
    reads_back(data, document, plain.read_at)


def test_quotes_in_repeated_text_have_their_own_ranges() -> None:
    folder = CASES / "06-offset-of-repeated-text"
    data = (folder / "log.txt").read_bytes()
    expected = json.loads((folder / "expected.json").read_text())
    document = plain.parse(data, "log.txt")
    tiles(data, document)
    starts = [unit.place(0, len(unit.text)).bytes[0] for unit in document.units]  # type: ignore[index]
    assert starts == sorted(starts)
    for quote in expected["quotes"]:
        unit = next(unit for unit in document.units if quote["quote"] in unit.text)
        at = unit.text.index(quote["quote"])
        locator = unit.place(at, at + len(quote["quote"]))
        assert locator.bytes == (quote["byte_start"], quote["byte_end"])
        assert locator.lines == (quote["line"], quote["line"])


def test_a_log_without_blank_lines_is_divided_at_line_ends() -> None:
    data = b"".join(b"2026-01-01 entry %d of the log\n" % number for number in range(1000))
    document = plain.parse(data, "a.log")
    tiles(data, document)
    assert all(len(unit.text) <= 2000 for unit in document.units)
    assert all(unit.text.startswith("2026") for unit in document.units)


def test_one_endless_line_is_divided_at_sentences() -> None:
    data = ("Ein Satz steht hier. " * 500).encode()
    document = plain.parse(data, "a.txt")
    tiles(data, document)
    assert all(unit.text.startswith("Ein") and unit.text.endswith("hier.") for unit in document.units)


def test_underlined_titles_are_headings_by_order_of_style() -> None:
    text = (
        "Guide\n=====\n\nIntro.\n\nPart\n----\nRight below.\n\n=====\n Big\n=====\n\nA  B\n-- --\n1  2\n\nNo line\n--\n"
    )
    document = plain.parse(text.encode(), "guide.rst")
    headings = [(unit.level, unit.text, unit.heading_path) for unit in document.units if unit.kind == "heading"]
    assert headings == [
        (1, "Guide\n=====", ()),
        (2, "Part\n----", ("Guide",)),
        (3, "=====\n Big\n=====", ("Guide", "Part")),
    ]
    assert document.title == "Guide"
    below = next(unit for unit in document.units if unit.text == "Right below.")
    assert below.heading_path == ("Guide", "Part")


def test_numbered_lines_are_headings_only_over_indented_text() -> None:
    text = "1. Scope\n\n   Body of it.\n\n1.1 Detail\n\n   More.\n\n2. buy milk\n\n3. Buy bread\n\nNot indented.\n"
    document = plain.parse(text.encode(), "rfc.txt")
    assert [(unit.level, unit.text) for unit in document.units if unit.kind == "heading"] == [
        (1, "1. Scope"),
        (2, "1.1 Detail"),
    ]


def test_running_heads_of_pages_are_kept_but_marked() -> None:
    data = b"   Text one.\n\nNebel   Experimental   [Page 1]\n\x0c\nRFC 1867   Upload   1995\n\n   Text two.\n"
    document = plain.parse(data, "rfc.txt")
    tiles(data, document)
    assert [unit.text for unit in document.units if "furniture" not in unit.attributes] == ["Text one.", "Text two."]


@pytest.mark.parametrize("name", ["text/rfc1867.txt", "code/itsdangerous/docs/concepts.rst", "scan/linn.txt"])
def test_corpus_files_tile_and_read_back(name: str) -> None:
    if not CORPUS.is_dir():
        pytest.skip("the shared corpus is not here")
    data = (CORPUS / name).read_bytes()
    document = plain.parse(data, name)
    tiles(data, document)
    reads_back(data, document, plain.read_at)
    assert any(unit.kind == "heading" for unit in document.units) or name.startswith("scan")
