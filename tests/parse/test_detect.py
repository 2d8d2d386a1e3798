"""Which format a file has: content decides over binary suffixes, the suffix among text formats."""

from __future__ import annotations

import io
import zipfile

import pytest

from tychora_functions.parse.detect import Format, detect


def package(*names: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as target:
        for name in names:
            target.writestr(name, b"x" * 50)
    return held.getvalue()


WORD = package("[Content_Types].xml", "_rels/.rels", "word/document.xml")
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)


@pytest.mark.parametrize(
    ("data", "name", "expected"),
    [
        (b"# Title", "a/b.md", "markdown"),
        (b"# Title", "README.MARKDOWN", "markdown"),
        (b"<p>x", "index.htm", "html"),
        (b"a,b", "t.csv", "csv"),
        (b"a\tb", "t.tsv", "tsv"),
        (b"{}", "p.json", "json"),
        (b"{}", "n.ipynb", "json"),
        (b"{}", "r.jsonl", "jsonl"),
        (b"x = 1", "m.py", "python"),
        (b"x", "m.jsx", "javascript"),
        (b"x", "m.mjs", "javascript"),
        (b"x", "m.ts", "typescript"),
        (b"x", "m.tsx", "tsx"),
        (b"x", "docs\\changes.rst", "plain"),
        (b"x", "Makefile", "plain"),
        (b"x", "LICENSE", "plain"),
        (b"x", "main.rs", "plain"),
        (b"", "empty", "plain"),
        ("größe".encode("utf-16"), "notes", "plain"),
        ("plain".encode("utf-16-le"), "notes", "plain"),
        (b"#!/usr/bin/env python3\n", "tool", "python"),
        (b"#!/usr/bin/env node\n", "tool", "javascript"),
        (b"<!DOCTYPE html>\n<html>", "page", "html"),
        (b"%PDF-1.4\n", "report.txt", "pdf"),
        (b"no pdf at all", "report.pdf", "pdf"),
        (WORD, "letter.docx", "docx"),
        (WORD, "letter.txt", "docx"),
        (WORD[:120], "letter.docx", "docx"),
        (package("xl/workbook.xml", "[Content_Types].xml"), "b.docx", "xlsx"),
        (package("ppt/presentation.xml", "[Content_Types].xml"), "s.pptx", "pptx"),
        (package("a.txt"), "letter.docx", "archive"),
        (package("a.txt"), "a.zip", "archive"),
        (OLE, "old.doc", "legacy_office"),
        (OLE + "EncryptedPackage".encode("utf-16-le"), "secret.docx", "encrypted"),
        (b"From: a@b", "m.eml", "mail"),
        (b"\x89PNG\r\n\x1a\n", "p.md", "image"),
        (b"PAR1\x15\0", "t.parquet", "parquet"),
        (b"\x7fELF\x02", "tool", "executable"),
        (b"MZ is a text that begins so", "mz", "plain"),
        (b"PAR1 is how it begins", "about", "plain"),
        (b"\x01\x02\x03\x04" * 20, "blob", "binary"),
        (b"a\0b" * 50, "blob.bin", "binary"),
    ],
)
def test_the_format_of_a_file(data: bytes, name: str, expected: str) -> None:
    assert detect(data, name) == expected


def test_a_format_is_either_read_or_has_a_reason() -> None:
    for kind in Format:
        assert kind.supported == (kind.reason is None)
    assert "encrypted" in (Format.ENCRYPTED.reason or "")
    assert Format.DOCX.supported
    assert not Format.XLSX.supported
