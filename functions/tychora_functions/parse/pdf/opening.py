"""Opening a PDF: its pages one at a time, its labels, contents and title, or the typed reason why not."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tychora_functions.parse.pdf.frame import PageFrame
from tychora_schemas.errors import MalformedContent, UnsupportedContent

__all__ = ["OpenPage", "attachments", "open_document", "open_page", "outline", "page_label", "title"]

MOST_BOOKMARKS = 20_000
DEEPEST_BOOKMARK = 12

NO_TITLE = re.compile(
    r"^(untitled|unbenannt|sans titre|document\d*|microsoft (word|powerpoint|excel)\b.*|powerpoint presentation"
    r"|slide \d+|.*\.(docx?|pptx?|xlsx?|pdf|tex|dvi|indd|qxd|odt|rtf|html?|p65|fm|ps))$",
    re.IGNORECASE,
)
"""Titles that a program left behind rather than a person."""


class OpenPage:
    """A page and its text layer while both are open: raw pdfium handles, and the page's frame."""

    __slots__ = ("frame", "handle", "text")

    def __init__(self, handle: Any, text: Any, frame: PageFrame) -> None:
        self.handle, self.text, self.frame = handle, text, frame


@contextmanager
def open_document(data: bytes, name: str) -> Iterator[Any]:
    """The document; an empty user password opens, any other is asked for by an error."""
    import pypdfium2

    handle = pypdfium2.raw.FPDF_LoadMemDocument64(data, len(data), None)
    if not handle:
        # asked for only here: after a success pdfium still names the last failure
        if pypdfium2.raw.FPDF_GetLastError() == pypdfium2.raw.FPDF_ERR_PASSWORD:
            raise UnsupportedContent(
                f"{name}: encrypted, a password is needed to open it",
                next_step="save a copy without the password and add that",
            )
        raise MalformedContent(f"{name}: not a readable PDF", next_step="open it in a viewer and save it again")
    document = pypdfium2.PdfDocument(handle)
    try:
        yield document
    finally:
        document.close()


@contextmanager
def open_page(document: Any, index: int) -> Iterator[OpenPage | None]:
    """Page `index` (from 0), closed again on leaving; None where it is damaged."""
    import pypdfium2.raw as pdfium

    handle = pdfium.FPDF_LoadPage(document.raw, index)
    if not handle:
        yield None
        return
    try:
        text = pdfium.FPDFText_LoadPage(handle)
        if not text:
            yield None
            return
        try:
            yield OpenPage(handle, text, _frame(handle))
        finally:
            pdfium.FPDFText_ClosePage(text)
    finally:
        pdfium.FPDF_ClosePage(handle)


def _frame(handle: Any) -> PageFrame:
    import pypdfium2.raw as pdfium

    bounds = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(handle, bounds):
        bounds.right, bounds.top = 612.0, 792.0
    return PageFrame(
        min(bounds.left, bounds.right),
        min(bounds.bottom, bounds.top),
        max(bounds.left, bounds.right),
        max(bounds.bottom, bounds.top),
        pdfium.FPDFPage_GetRotation(handle) % 4,
    )


def page_label(document: Any, index: int) -> str | None:
    """The label of page `index` where it is not simply the page's number."""
    import pypdfium2.raw as pdfium

    length = pdfium.FPDF_GetPageLabel(document.raw, index, None, 0)
    if not 2 < length < 400:
        return None
    buffer = ctypes.create_string_buffer(length)
    pdfium.FPDF_GetPageLabel(document.raw, index, buffer, length)
    label = buffer.raw[: length - 2].decode("utf-16-le", "replace").strip()
    return label if label and label != str(index + 1) else None


def outline(document: Any) -> dict[int, list[tuple[int, str]]]:
    """The bookmarks by page number (from 1): `(depth from 1, title)` in the outline's order."""
    found: dict[int, list[tuple[int, str]]] = {}
    try:
        for count, mark in enumerate(document.get_toc(max_depth=DEEPEST_BOOKMARK)):
            if count >= MOST_BOOKMARKS:
                break
            target = mark.get_dest()
            index = target.get_index() if target else None
            if index is not None and index >= 0:
                found.setdefault(index + 1, []).append((mark.level + 1, mark.get_title().strip()))
    except (RuntimeError, ValueError, UnicodeError):  # a broken outline costs its rest, not the document
        pass
    return found


def title(document: Any) -> str | None:
    """The title in the metadata, unless a program left it there."""
    try:
        text = " ".join(str(document.get_metadata_value("Title")).replace("\x00", "").split())
    except (RuntimeError, ValueError, UnicodeError):
        return None
    return text if sum(map(str.isalpha, text)) >= 3 and len(text) <= 300 and not NO_TITLE.match(text) else None


def language(document: Any) -> str | None:
    """The language that the document declares, as an ISO 639-1 code."""
    import pypdfium2.raw as pdfium

    buffer = (ctypes.c_ushort * 40)()
    length = pdfium.FPDFCatalog_GetLanguage(document.raw, buffer, ctypes.sizeof(buffer))
    text = bytes(buffer)[: max(0, length - 2)].decode("utf-16-le", "replace")
    code = re.split("[-_]", text)[0].lower()
    return code if re.fullmatch("[a-z]{2}", code) else None


def attachments(document: Any) -> list[str]:
    """Names of the files embedded in the document."""
    import pypdfium2.raw as pdfium

    names = []
    for index in range(min(200, max(0, pdfium.FPDFDoc_GetAttachmentCount(document.raw)))):
        item = pdfium.FPDFDoc_GetAttachment(document.raw, index)
        buffer = (ctypes.c_ushort * 512)()
        length = pdfium.FPDFAttachment_GetName(item, buffer, ctypes.sizeof(buffer)) if item else 0
        raw = bytes(buffer)[: max(0, min(length, ctypes.sizeof(buffer)) - 2)]
        names.append(raw.decode("utf-16-le", "replace") or "without a name")
    return names
