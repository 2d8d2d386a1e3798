"""What is no readable PDF is refused with a typed error, and nothing crashes."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pdf_checks import content, document, made, shown

from tychora_functions.parse import pdf
from tychora_schemas.errors import MalformedContent, TychoraError, UnsupportedContent
from tychora_schemas.locator import Locator


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7", b"\x00" * 999, b"plain words"], ids=["empty", "cut", "nul", "text"])
def test_what_is_no_pdf_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedContent) as error:
        pdf.parse(data, "x.pdf")
    assert error.value.next_step


def test_a_pdf_without_pages_is_malformed() -> None:
    with pytest.raises(MalformedContent):
        pdf.parse(made(), "x.pdf")


def test_a_file_without_text_is_said_to_need_recognition() -> None:
    with pytest.raises(UnsupportedContent, match="scan") as error:
        pdf.parse(made("0 0 100 100 re f"), "x.pdf")
    assert "OCR" in error.value.next_step


def test_a_needed_password_is_said(shared_folder: Path) -> None:
    name = "2206.01062_pg3.pdf"
    with pytest.raises(UnsupportedContent, match="encrypted") as error:
        pdf.parse((shared_folder / "corpus" / "pdf" / name).read_bytes(), name)
    assert error.value.next_step


def test_an_empty_user_password_opens() -> None:
    assert document("testPDF_no_extract_no_accessibility_owner_empty.pdf").units


def test_pages_of_absurd_size_are_read() -> None:
    units = pdf.parse(made(shown("far", 20, 900_000), box="0 0 1000000 1000000"), "x").units
    assert [unit.text for unit in units] == ["far"]


def test_a_page_of_very_many_glyphs_is_read() -> None:
    line = "word " * 200
    stream = " ".join(shown(line, 5, 3_000 - 7 * number, 6) for number in range(100))
    units = pdf.parse(made(stream, box="0 0 4000 3100"), "x").units
    assert sum(len(unit.text) for unit in units) >= 99_000


def test_a_page_that_does_not_exist_is_refused() -> None:
    with pytest.raises(MalformedContent):
        pdf.read_at(content("minutes.pdf"), Locator(page=9))


@settings(max_examples=80)
@given(st.data())
def test_damaged_files_raise_typed_errors_only(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(["minutes.pdf", "bookmark_sample.pdf", "annotated_pdf.pdf", "ledger-12p.pdf"]))
    damaged = bytearray(content(name))
    change = st.tuples(st.integers(0, len(damaged) - 1), st.integers(0, 255))
    for place, value in data.draw(st.lists(change, max_size=40)):
        damaged[place] = value
    cut = data.draw(st.integers(len(damaged) // 2, len(damaged)))
    with contextlib.suppress(TychoraError):
        pdf.parse(bytes(damaged[:cut]), name)
