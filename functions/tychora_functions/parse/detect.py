"""Which format a file has, told from its first bytes and its name."""

from __future__ import annotations

import io
import re
import zipfile
from enum import StrEnum
from pathlib import PurePosixPath

__all__ = ["Format", "detect", "signature"]


class Format(StrEnum):
    """Everything a file can turn out to be. `reason` is None for what a parser here reads."""

    MARKDOWN = "markdown"
    HTML = "html"
    CSV = "csv"
    TSV = "tsv"
    JSON = "json"
    JSONL = "jsonl"
    PDF = "pdf"
    DOCX = "docx"
    PYTHON = "python"
    JAVASCRIPT = "javascript"
    TYPESCRIPT = "typescript"
    TSX = "tsx"
    PLAIN = "plain"

    XLSX = "xlsx"
    PPTX = "pptx"
    ODF = "odf"
    EPUB = "epub"
    ENCRYPTED = "encrypted"
    LEGACY_OFFICE = "legacy_office"
    MAIL = "mail"
    IMAGE = "image"
    AUDIO_VIDEO = "audio_video"
    FONT = "font"
    ARCHIVE = "archive"
    PARQUET = "parquet"
    DATABASE = "database"
    EXECUTABLE = "executable"
    BINARY = "binary"

    @property
    def reason(self) -> str | None:
        """Why no parser reads this format, as a sentence for people; None if one does."""
        return _REASONS.get(self)

    @property
    def supported(self) -> bool:
        """Whether a parser here reads this format."""
        return self not in _REASONS


_REASONS = {
    Format.XLSX: "an Excel workbook, which is not read yet; save its sheets as CSV",
    Format.PPTX: "a PowerPoint presentation, which is not read yet; export it as PDF",
    Format.ODF: "an OpenDocument file, which is not read; save it as DOCX or PDF",
    Format.EPUB: "an e-book, which is not read; add its HTML chapters",
    Format.ENCRYPTED: "encrypted: an Office document that needs a password; save it without one",
    Format.LEGACY_OFFICE: "an Office file of the old binary kind; save it as DOCX or PDF",
    Format.MAIL: "a mail message, which is not read yet; save its text or its attachments",
    Format.IMAGE: "an image, which holds no text to read without recognition",
    Format.AUDIO_VIDEO: "sound or video, which holds no text to read",
    Format.FONT: "a font, which holds no text to read",
    Format.ARCHIVE: "an archive; unpack it and add the files in it",
    Format.PARQUET: "a Parquet table, which is not read yet; export it as CSV",
    Format.DATABASE: "a database file; export its tables as CSV",
    Format.EXECUTABLE: "a program or compiled code, not a document",
    Format.BINARY: "binary data of no known format",
}

_SUFFIXES = {
    Format.MARKDOWN: "md markdown mdown mkd mkdn mdx qmd rmd",
    Format.HTML: "html htm xhtml xht",
    Format.CSV: "csv",
    Format.TSV: "tsv tab",
    Format.JSON: "json geojson jsonld ipynb webmanifest",
    Format.JSONL: "jsonl ndjson",
    Format.PDF: "pdf",
    Format.DOCX: "docx docm",
    Format.PYTHON: "py pyi pyw",
    Format.JAVASCRIPT: "js jsx mjs cjs",
    Format.TYPESCRIPT: "ts mts cts",
    Format.TSX: "tsx",
    Format.XLSX: "xlsx xlsm xlsb",
    Format.PPTX: "pptx pptm ppsx",
    Format.ODF: "odt ods odp",
    Format.EPUB: "epub",
    Format.LEGACY_OFFICE: "doc xls ppt",
    Format.MAIL: "eml msg mbox",
    Format.IMAGE: "png jpg jpeg gif bmp tif tiff webp ico heic avif",
    Format.AUDIO_VIDEO: "mp3 mp4 m4a wav ogg flac avi mov mkv webm",
    Format.FONT: "ttf otf woff woff2",
    Format.ARCHIVE: "zip gz tgz bz2 xz zst 7z rar tar jar whl",
    Format.PARQUET: "parquet",
    Format.DATABASE: "sqlite db duckdb",
    Format.EXECUTABLE: "exe dll so dylib class pyc wasm",
}
_BY_SUFFIX = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}

_SIGNATURES: tuple[tuple[bytes, Format], ...] = (
    (b"%PDF-", Format.PDF),
    (b"\x89PNG\r\n\x1a\n", Format.IMAGE),
    (b"\xff\xd8\xff", Format.IMAGE),
    (b"GIF87a", Format.IMAGE),
    (b"GIF89a", Format.IMAGE),
    (b"II*\x00", Format.IMAGE),
    (b"MM\x00*", Format.IMAGE),
    (b"\x00\x00\x01\x00", Format.IMAGE),
    (b"\x1f\x8b\x08", Format.ARCHIVE),
    (b"BZh", Format.ARCHIVE),
    (b"\xfd7zXZ\x00", Format.ARCHIVE),
    (b"\x28\xb5\x2f\xfd", Format.ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", Format.ARCHIVE),
    (b"Rar!\x1a\x07", Format.ARCHIVE),
    (b"PAR1", Format.PARQUET),
    (b"SQLite format 3\x00", Format.DATABASE),
    (b"\x7fELF", Format.EXECUTABLE),
    (b"\xca\xfe\xba\xbe", Format.EXECUTABLE),
    (b"\xcf\xfa\xed\xfe", Format.EXECUTABLE),
    (b"\x00asm", Format.EXECUTABLE),
    (b"OggS\x00", Format.AUDIO_VIDEO),
    (b"fLaC", Format.AUDIO_VIDEO),
    (b"ID3\x03", Format.AUDIO_VIDEO),
    (b"ID3\x04", Format.AUDIO_VIDEO),
    (b"\x1aE\xdf\xa3", Format.AUDIO_VIDEO),
    (b"wOFF", Format.FONT),
    (b"wOF2", Format.FONT),
    (b"\x00\x01\x00\x00\x00", Format.FONT),
)
_NEEDS_NUL = {b"PAR1", b"BZh", b"wOFF", b"wOF2", b"fLaC"}
"""Signatures that are letters only: words of a text may begin so, but a text holds no NUL."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")
_SHEBANG = re.compile(rb"#!.*?\b(python|node|deno|bun)")
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)


def detect(data_head: bytes, name: str) -> Format:
    """The format of a file from its first bytes (all of it is best, 4 KiB will do) and its name or path.

    A binary signature decides over the suffix; among text formats the suffix decides; text of an unknown suffix
    is plain, or what its first line declares (HTML, a script's `#!`).
    """
    suffix = _BY_SUFFIX.get(PurePosixPath(name.replace("\\", "/")).suffix[1:].lower())
    if (signed := signature(data_head, suffix)) is not None:
        return signed
    if suffix is not None:
        return suffix
    if _HTML_START.match(data_head):
        return Format.HTML
    if interpreter := _SHEBANG.match(data_head):
        return Format.PYTHON if interpreter[1] == b"python" else Format.JAVASCRIPT
    return Format.BINARY if _looks_binary(data_head) else Format.PLAIN


def signature(data_head: bytes, suffix: Format | None = None) -> Format | None:
    """The binary format that the first bytes declare, or None; `suffix` settles what a part of a ZIP cannot."""
    if data_head.startswith(b"PK\x03\x04"):
        return _packaged(data_head, suffix)
    if data_head.startswith(_OLE):
        return Format.ENCRYPTED if _ENCRYPTED_PACKAGE in data_head else Format.LEGACY_OFFICE
    for magic, kind in _SIGNATURES:
        if data_head.startswith(magic) and (magic not in _NEEDS_NUL or b"\0" in data_head):
            return kind
    if data_head.startswith(b"RIFF") and b"\0" in data_head:
        return Format.IMAGE if data_head[8:12] == b"WEBP" else Format.AUDIO_VIDEO
    if data_head.startswith(b"MZ") and b"\0" in data_head[:64]:
        return Format.EXECUTABLE
    if data_head[4:8] == b"ftyp":
        return Format.AUDIO_VIDEO
    if data_head[257:262] == b"ustar":
        return Format.ARCHIVE
    return None


def _packaged(data_head: bytes, suffix: Format | None) -> Format:
    """What a ZIP package holds: an Office document is told by its main folder, others by their `mimetype`."""
    names, whole = _member_names(data_head)
    if "[Content_Types].xml" in names:
        for folder, kind in (("word/", Format.DOCX), ("xl/", Format.XLSX), ("ppt/", Format.PPTX)):
            if any(name.startswith(folder) for name in names):
                return kind
    if "mimetype" in names:
        return Format.EPUB if b"application/epub+zip" in data_head[:200] else Format.ODF
    if not whole and suffix in (Format.DOCX, Format.XLSX, Format.PPTX):
        return suffix
    return Format.ARCHIVE


def _member_names(data_head: bytes) -> tuple[set[str], bool]:
    """The member names of a ZIP file and True, or those that the first bytes of one show and False."""
    try:
        with zipfile.ZipFile(io.BytesIO(data_head)) as package:
            return set(package.namelist()), True
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        lengths = re.finditer(rb"PK\x03\x04.{22}(..)..", data_head, re.S)
        ends = [(found.end(), found.end() + int.from_bytes(found[1], "little")) for found in lengths]
        return {data_head[start:end].decode("utf-8", "replace") for start, end in ends}, False


def _looks_binary(data_head: bytes) -> bool:
    """Control bytes, or NULs that are not the other half of UTF-16 letters."""
    if data_head.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return False
    nul = data_head.count(0)
    if nul and max(data_head[0::2].count(0), data_head[1::2].count(0)) < 0.9 * nul:
        return True
    if nul and nul < 0.2 * len(data_head):
        return True
    control = sum(data_head.count(byte) for byte in range(1, 32) if byte not in b"\t\n\v\f\r\b\x1b")
    return control > 0.02 * len(data_head)
