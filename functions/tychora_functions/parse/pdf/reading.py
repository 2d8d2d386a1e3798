"""Reading a place again: the text inside its boxes, straight from the page."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tychora_functions.parse.pdf.fragments import Fragment, joined
from tychora_functions.parse.pdf.glyphs import Glyphs
from tychora_functions.parse.pdf.lines import spelled
from tychora_functions.parse.pdf.notes import note_text
from tychora_functions.parse.pdf.opening import OpenPage
from tychora_functions.parse.pdf.pages import visible_fragments
from tychora_schemas.locator import Box, Locator

__all__ = ["line_in", "text_in"]

ROUNDING = 0.06
"""Points; boxes are rounded to a tenth."""


def text_in(page: OpenPage, locator: Locator) -> str:
    """The glyphs whose anchor lies in each of the boxes, one line a box; knows nothing of columns and paragraphs."""
    if locator.path is not None:
        start, end = locator.characters or (0, None)
        return note_text(page, locator.path)[start:end]
    glyphs, parts = visible_fragments(page)
    return "\n".join(line_in(glyphs, parts, box) for box in locator.boxes or ())


def line_in(glyphs: Glyphs, parts: Sequence[Fragment], box: Box) -> str:
    """The glyphs whose anchor lies in `box`, as one line."""
    x, y = glyphs.anchors()
    inside = (
        (x >= box.x0 - ROUNDING) & (x <= box.x1 + ROUNDING) & (y >= box.y0 - ROUNDING) & (y <= box.y1 + ROUNDING)
    ) & ~glyphs.blank
    firsts = np.array([part.first for part in parts], np.int64)
    owners = np.searchsorted(firsts, np.flatnonzero(inside), side="right") - 1
    touched = [parts[owner] for owner in np.unique(owners).tolist()]
    indices = joined(glyphs, touched)
    solid = np.flatnonzero((indices >= 0) & inside[indices])
    if not len(solid):
        return ""
    wanted = (indices < 0) | inside[indices] | glyphs.blank[indices]
    return spelled(glyphs, indices[wanted]).strip()
