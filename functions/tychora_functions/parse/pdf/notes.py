"""What stands on a page beside its text: the contents of annotations and the values of form fields."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tychora_functions.parse.pdf.opening import OpenPage
from tychora_schemas.locator import Box

__all__ = ["Note", "note_text", "notes"]

MOST_NOTES = 2_000
KEYS = ("Contents", "V")
"""Dictionary keys that hold an annotation's text and a form field's value, ISO 32000-1 12.5.2 and 12.7.3."""


@dataclass(frozen=True, slots=True)
class Note:
    """The text at `path` (`annotations[n]/Key`, n from 0); `name` is the form field's name or the author, if any."""

    path: str
    text: str
    name: str
    box: Box


def notes(page: OpenPage, number: int) -> Iterator[Note]:
    """The notes of a page, in the file's order; `number` is the page's, from 1."""
    import pypdfium2.raw as pdfium

    skipped = (pdfium.FPDF_ANNOT_LINK, pdfium.FPDF_ANNOT_POPUP)
    for index in range(min(MOST_NOTES, max(0, pdfium.FPDFPage_GetAnnotCount(page.handle)))):
        annotation = pdfium.FPDFPage_GetAnnot(page.handle, index)
        if not annotation:
            continue
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind in skipped:
                continue
            key = "V" if kind == pdfium.FPDF_ANNOT_WIDGET else "Contents"
            text = _value(annotation, key)
            if text.strip():
                yield Note(
                    f"annotations[{index}]/{key}", text, _value(annotation, "T").strip(), _box(page, annotation, number)
                )
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def note_text(page: OpenPage, path: str) -> str:
    """The text at a note's `path` again; empty where there is none."""
    import pypdfium2.raw as pdfium

    place, _, key = path.removeprefix("annotations[").partition("]/")
    if not place.isdigit() or key not in KEYS:
        return ""
    annotation = pdfium.FPDFPage_GetAnnot(page.handle, int(place))
    if not annotation:
        return ""
    try:
        return _value(annotation, key)
    finally:
        pdfium.FPDFPage_CloseAnnot(annotation)


def _value(annotation: Any, key: str) -> str:
    import pypdfium2.raw as pdfium

    name = key.encode()
    length = pdfium.FPDFAnnot_GetStringValue(annotation, name, None, 0)
    if not 2 < length < 1 << 20:
        return ""
    buffer = (ctypes.c_ushort * (length // 2 + 1))()
    pdfium.FPDFAnnot_GetStringValue(annotation, name, buffer, length)
    text = bytes(buffer)[: length - 2].decode("utf-16-le", "replace")
    return text.replace("\x00", "").replace("\r\n", "\n").replace("\r", "\n")


def _box(page: OpenPage, annotation: Any, number: int) -> Box:
    import pypdfium2.raw as pdfium

    bounds = pdfium.FS_RECTF()
    pdfium.FPDFAnnot_GetRect(annotation, bounds)
    xa, ya = page.frame.displayed(bounds.left, bounds.bottom)
    xb, yb = page.frame.displayed(bounds.right, bounds.top)
    x0, x1, y0, y1 = min(xa, xb), max(xa, xb), min(ya, yb), max(ya, yb)
    return Box(page=number, x0=round(x0, 1), y0=round(y0, 1), x1=round(x1, 1), y1=round(y1, 1))
