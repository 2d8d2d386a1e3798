"""Decoding and the map of a text: every offset leads back to the file's own bytes, in every encoding."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from text_checks import CASES, CORPUS

from tychora_functions.parse import plain
from tychora_functions.parse.decode import Decoded, decode
from tychora_functions.parse.textmap import TextMap, read_at, split
from tychora_schemas.errors import InvalidRequest, MalformedContent, TychoraError, UnsupportedContent

BOMS = {"utf-8": b"\xef\xbb\xbf", "utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-32-le": b"\xff\xfe\0\0"}

SAMPLES = {
    "cp1252": ["## können\n\nkönnen\n\näöüß\n", "Le café coûte 3,50 €, « très » cher.", "¿Qué comió el niño?"],
    "cp1250": ["Příliš žluťoučký kůň úpěl ďábelské ódy.", "Zażółć gęślą jaźń."],
    "cp1251": ["Съешь же ещё этих мягких французских булок, да выпей чаю."],
    "koi8-r": ["Съешь же ещё этих мягких французских булок, да выпей чаю."],
    "cp1253": ["Η γρήγορη καφέ αλεπού πηδάει πάνω από το σκυλί"],
    "cp1255": ["כל בני האדם נולדו בני חורין ושווים"],
    "gb18030": ["第一条 为了预防和制止垄断行为，保护市场公平竞争。", "你好，世界。"],
    "big5": ["中華民國憲法第一條 人民之自由"],
    "cp932": ["吾輩は猫である。名前はまだ無い。", "カタカナとひらがな"],
    "euc_jp": ["吾輩は猫である。名前はまだ無い。"],
    "cp949": ["대한민국은 민주공화국이다."],
}


@pytest.mark.parametrize(("encoding", "text"), [(name, text) for name, texts in SAMPLES.items() for text in texts])
def test_an_undeclared_encoding_is_inferred_and_said_so(encoding: str, text: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding) == (text, encoding)
    assert encoding in decoded.warnings[0]


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.sampled_from(sorted(BOMS)))
def test_a_byte_order_mark_decides_and_is_no_text(text: str, encoding: str) -> None:
    data = BOMS[encoding] + text.encode(encoding, "ignore")
    try:
        decoded = decode(data)
    except TychoraError:
        return  # control characters, or a mark that also is another's beginning
    assert decoded.bom_length in (2, 3, 4)
    assert decoded.text.encode(decoded.encoding) == data[decoded.bom_length :]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_read_with_a_warning(encoding: str) -> None:
    text = "This is a test.\nZweite Zeile: größe.\n"
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.bom_length) == (text, encoding, 0)
    assert "No byte order mark" in decoded.warnings[0]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ('<?xml version="1.0" encoding="ISO-8859-2"?><a>Łódź</a>'.encode("iso8859-2"), "iso8859-2"),
        ('<html><meta charset="windows-1251"><p>да</p>'.encode("cp1251"), "cp1251"),
        ("# -*- coding: latin-1 -*-\nname = 'größe'\n".encode("cp1252"), "cp1252"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=gb2312"><p>第一条'.encode("gbk"), "gb18030"),
        ("吾輩は猫である\n".encode("iso2022_jp"), "iso2022_jp"),
    ],
)
def test_a_declared_encoding_is_taken_without_a_warning(data: bytes, encoding: str) -> None:
    decoded = decode(data)
    assert (decoded.encoding, decoded.warnings) == (encoding, ())
    assert decoded.text.encode(encoding) == data


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", UnsupportedContent),
        (b"\x89PNG\r\n\x1a\n\0\0", UnsupportedContent),
        (b"PK\x03\x04" + bytes(60), UnsupportedContent),
        (b"text with a \0 byte in it", MalformedContent),
        (bytes(range(1, 32)) * 9, MalformedContent),
        (bytes(byte | 0x80 for byte in hashlib.sha512(b"noise").digest() * 2), MalformedContent),
        (b"\xef\xbb\xbfcaf\xe9", MalformedContent),
        (b"\xff\xfea\0b", MalformedContent),
    ],
)
def test_what_is_no_text_is_refused_with_a_reason_and_a_next_step(data: bytes, error: type[TychoraError]) -> None:
    with pytest.raises(error) as caught:
        decode(data)
    assert caught.value.message
    assert caught.value.next_step


@settings(max_examples=40, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_give_exact_text_or_a_typed_error(data: bytes) -> None:
    try:
        decoded = decode(data)
    except TychoraError:
        return
    assert decoded.text.encode(decoded.encoding) == data[decoded.bom_length :]


def test_an_empty_file_is_text() -> None:
    assert decode(b"").text == ""
    assert plain.parse(b"", "a.txt").units == []


ENCODINGS = ["utf-8", "utf-16-le", "utf-16-be", "utf-32-be", "cp1252", "gb18030", "euc_jp"]
LINES = st.lists(st.sampled_from(["a", "größe 😀", "第一条", "cafe\u0301", "\x0b\x0c\x85\u2028", " ", ""]), max_size=40)


@settings(max_examples=40, deadline=None)
@given(LINES, st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=40, max_size=40), st.sampled_from(ENCODINGS))
def test_the_map_goes_from_characters_to_bytes_and_lines_and_back(
    lines: list[str], ends: list[str], encoding: str
) -> None:
    text = "".join(line + end for line, end in zip(lines, ends, strict=False))
    text = text.encode(encoding, "ignore").decode(encoding)
    data = BOMS.get(encoding, b"") + text.encode(encoding)
    text_map = TextMap.of(data) if encoding in BOMS else TextMap(Decoded(text, encoding))
    for character in range(len(text) + 1):
        byte = text_map.byte(character)
        assert data[byte:].decode(encoding) == text[character:]
        assert text_map.character(byte) == character
        before = text[:character].replace("\r\n", "\n") if text[character - 1 : character + 1] != "\r\n" else ""
        if before:
            assert text_map.line(character) == 1 + before.count("\n") + before.count("\r")


def test_a_long_multibyte_text_is_mapped_beyond_the_first_checkpoint() -> None:
    text = "第一条 größe 😀\r\n" * 500
    text_map = TextMap.of(text.encode())
    for character in range(0, len(text), 97):
        assert text_map.byte(character) == len(text[:character].encode())
        assert text_map.character(text_map.byte(character)) == character


def test_a_stateful_encoding_is_cited_by_characters() -> None:
    data = "前書き\n\n吾輩は猫である\n".encode("iso2022_jp")
    unit = plain.parse(data, "a.txt").units[1]
    locator = unit.place(3, 4)
    assert locator.bytes is None
    assert locator.transform == "iso2022_jp"
    assert read_at(data, locator) == "猫"


def test_a_locator_of_another_file_is_refused() -> None:
    locator = TextMap.of("größe".encode()).locator(0, 3)
    with pytest.raises(InvalidRequest):
        read_at("ggröße".encode(), locator.model_copy(update={"bytes": (4, 5)}))
    with pytest.raises(InvalidRequest):
        read_at(b"", locator.model_copy(update={"bytes": None}))


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet="ab .\r\n\u0301。", max_size=300), st.integers(5, 60))
def test_splitting_keeps_every_character_within_the_limit(text: str, limit: int) -> None:
    parts = split(text, 0, len(text), limit)
    assert "".join(text[start:end] for start, end in parts) == text
    assert all(end - start <= limit for start, end in parts)
    assert all(text[end - 1 : end + 1] != "\r\n" for _, end in parts[:-1])


def test_bom_crlf_and_multibyte_letters_shift_nothing() -> None:
    data = (CASES / "07-crlf-bom-multibyte-offsets" / "pruef.py").read_bytes()
    text_map = TextMap.of(data)
    start = text_map.text.index("def größe_prüfen")
    assert text_map.locator(start, start + 7).bytes == (87, 95)
    assert text_map.line(start) == 7


def test_the_corpus_files_in_odd_encodings_are_read_with_a_warning() -> None:
    folder = CORPUS / "text"
    if not folder.is_dir():
        pytest.skip("the shared corpus is not here")
    wide = decode((folder / "fake-text-utf-16-le.txt").read_bytes())
    assert wide.text.startswith("This is a test document")
    assert wide.warnings
    narrow = decode((folder / "umlauts-non-utf8.md").read_bytes())
    assert narrow.text == "## können\n\nkönnen\n\näöüß\n"
    assert narrow.warnings
