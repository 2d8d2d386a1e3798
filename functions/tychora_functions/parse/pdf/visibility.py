"""What a reader of the page does not see: text without ink, white on white, too small, or off the page."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from tychora_functions.parse.pdf.frame import PageFrame
from tychora_functions.parse.pdf.glyphs import Glyphs

__all__ = ["is_scan", "unseen"]

MOST_OBJECTS = 5_000
"""Page objects looked at before a page counts as painted all over."""

SCAN_SHARE = 0.6
"""Share of a page that an image covers when invisible text above it is what was recognised in it."""

Rectangle = tuple[float, float, float, float]


def unseen(page: Any, glyphs: Glyphs) -> npt.NDArray[np.bool_]:
    """For every glyph, whether it is hidden."""
    x, y = glyphs.anchors()
    frame = glyphs.frame
    mask = (x < 0) | (y < 0) | (x > frame.width) | (y > frame.height)
    for number, style in enumerate(glyphs.styles):
        if style.invisible or style.faint:
            mask |= glyphs.style == number
        elif style.white and (own := glyphs.style == number).any():
            mask |= own & ~_on_paint(page, frame, x, y)
    return mask


def is_scan(page: Any, frame: PageFrame) -> bool:
    """Does one image fill most of the page?"""
    import pypdfium2.raw as pdfium

    whole = frame.width * frame.height
    return any(
        kind == pdfium.FPDF_PAGEOBJ_IMAGE and (x1 - x0) * (y1 - y0) >= SCAN_SHARE * whole
        for kind, _, (x0, y0, x1, y1) in _objects(page, frame)
    )


def _on_paint(page: Any, frame: PageFrame, x: Any, y: Any) -> npt.NDArray[np.bool_]:
    """Which points lie on something painted that is not white: white letters show there."""
    import pypdfium2.raw as pdfium

    covered = np.zeros(len(x), bool)
    backgrounds = (pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_SHADING, pdfium.FPDF_PAGEOBJ_FORM)
    if pdfium.FPDFPage_CountObjects(page) > MOST_OBJECTS:
        return ~covered
    for kind, item, (x0, y0, x1, y1) in _objects(page, frame):
        if kind in backgrounds or (kind == pdfium.FPDF_PAGEOBJ_PATH and _is_filled(item)):
            covered |= (x >= x0) & (x <= x1) & (y >= y0) & (y <= y1)
    return covered


def _is_filled(path: Any) -> bool:
    import pypdfium2.raw as pdfium

    mode, stroke = ctypes.c_int(), ctypes.c_int()
    if not pdfium.FPDFPath_GetDrawMode(path, mode, stroke) or mode.value == pdfium.FPDF_FILLMODE_NONE:
        return False
    red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
    if not pdfium.FPDFPageObj_GetFillColor(path, red, green, blue, alpha):
        return True
    return alpha.value > 0 and min(red.value, green.value, blue.value) < 250


def _objects(page: Any, frame: PageFrame) -> Iterator[tuple[int, Any, Rectangle]]:
    """Kind, handle and displayed rectangle of the objects of a page."""
    import pypdfium2.raw as pdfium

    sides = [ctypes.c_float() for _ in range(4)]
    for index in range(min(MOST_OBJECTS, pdfium.FPDFPage_CountObjects(page))):
        item = pdfium.FPDFPage_GetObject(page, index)
        if item and pdfium.FPDFPageObj_GetBounds(item, *sides):
            left, bottom, right, top = (side.value for side in sides)
            xa, ya = frame.displayed(left, bottom)
            xb, yb = frame.displayed(right, top)
            yield pdfium.FPDFPageObj_GetType(item), item, (min(xa, xb), min(ya, yb), max(xa, xb), max(ya, yb))
