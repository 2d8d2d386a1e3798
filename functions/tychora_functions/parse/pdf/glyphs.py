"""The glyphs of one page: what pdfium read, and where each stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from tychora_functions.parse.pdf.frame import Floats, PageFrame
from tychora_functions.parse.pdf.styles import Style, StyleReader

__all__ = ["LINE_END_HYPHEN", "Glyphs", "read_glyphs"]

LINE_END_HYPHEN = 0xFFFE
"""What pdfium's text calls a hyphen at the end of a line, soft or hard; it cannot tell which."""

ASCENT, DESCENT, ANCHOR = 0.8, 0.22, 0.3
"""Shares of the font size above and below the baseline that a glyph's band covers, and the height of its anchor. Fonts
declare their own ascent and descent, but often wrongly by a factor of two or three."""


@dataclass(slots=True)
class Glyphs:
    """Parallel arrays over the characters of a page in pdfium's order; positions are upright (see `frame`).

    A generated line break is a carriage return and has no width, as has a generated blank.
    """

    frame: PageFrame
    styles: list[Style]
    codes: npt.NDArray[np.uint32]
    u0: Floats
    u1: Floats
    baseline: Floats
    style: npt.NDArray[np.int32]
    blank: npt.NDArray[np.bool_] = field(init=False)
    size: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.blank = (self.codes == 0x20) | (self.codes == 0xA0) | ((self.codes >= 0x09) & (self.codes <= 0x0D))
        self.size = np.array([style.size for style in self.styles], np.float32)[self.style]

    def __len__(self) -> int:
        return len(self.codes)

    def only(self, kept: npt.NDArray[np.bool_]) -> Glyphs:
        """The glyphs that `kept` names."""
        return Glyphs(
            self.frame,
            self.styles,
            self.codes[kept],
            self.u0[kept],
            self.u1[kept],
            self.baseline[kept],
            self.style[kept],
        )

    def anchors(self) -> tuple[Floats, Floats]:
        """One displayed point per glyph, inside its small letters: a box holds the glyph whose anchor it holds."""
        u = (self.u0 + self.u1) / np.float32(2)
        v = self.baseline - np.float32(ANCHOR) * self.size
        quarter = np.array([style.quarter for style in self.styles])[self.style]
        x, y = u.copy(), v.copy()
        for turned in (1, 2, 3):
            mask = quarter == turned
            if mask.any():
                x[mask], y[mask], _, _ = self.frame.rectangle(u[mask], v[mask], u[mask], v[mask], turned)
        return x, y


def read_glyphs(text_page: Any, frame: PageFrame) -> Glyphs:
    """All glyphs of an open page, doubled ones (a bold face faked by drawing twice) once."""
    import pypdfium2.raw as pdfium

    count = max(0, pdfium.FPDFText_CountChars(text_page))
    if count == 0:
        return Glyphs(frame, [Style.plain()], *_empty())
    rectangles = (pdfium.FS_RECTF * count)()
    pointers = (pdfium.FPDF_PAGEOBJECT * count)()
    unicode, box, owner = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox, pdfium.FPDFText_GetTextObject
    codes = np.fromiter((unicode(text_page, index) for index in range(count)), np.uint32, count)
    for index in range(count):
        box(text_page, index, rectangles[index])
        pointers[index] = owner(text_page, index)
    bounds = np.frombuffer(rectangles, np.float32).reshape(count, 4)
    objects = np.frombuffer(pointers, np.uintp)
    # FS_RECTF is left, top, right, bottom
    x0, y0 = frame.displayed(bounds[:, 0], bounds[:, 1])
    x1, y1 = frame.displayed(bounds[:, 2], bounds[:, 3])
    corners = (np.minimum(x0, x1), np.minimum(y0, y1), np.maximum(x0, x1), np.maximum(y0, y1))

    reader = StyleReader(text_page, frame)
    style = np.zeros(count, np.int32)
    u0, u1, baseline = (np.zeros(count, np.float32) for _ in range(3))
    starts = np.flatnonzero(np.r_[True, objects[1:] != objects[:-1]])
    ends = np.r_[starts[1:], count]
    current, known = 0, dict[int, int]()
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        span = slice(start, end)
        x0s, y0s, x1s, y1s = (side[span] for side in corners)
        owner_address = int(objects[start])
        if owner_address and owner_address not in known:
            known[owner_address] = reader.style(start, pointers[start], float(y1s[0] - y0s[0]))
        current = known.get(owner_address, current)
        look = reader.styles[current] if reader.styles else Style.plain()
        style[span] = current
        a_u, a_v = frame.upright(x0s, y0s, look.quarter)
        b_u, b_v = frame.upright(x1s, y1s, look.quarter)
        u0[span], u1[span] = np.minimum(a_u, b_u), np.maximum(a_u, b_u)
        if owner_address:
            _, origin_v = frame.upright(*reader.origin(start), look.quarter)
            bottom = np.maximum(a_v, b_v)
            baseline[span] = origin_v if look.skewed else bottom - (bottom[0] - origin_v)
        else:
            baseline[span] = np.maximum(a_v, b_v)
    glyphs = Glyphs(frame, reader.styles or [Style.plain()], _readable(codes), u0, u1, baseline, style)
    kept = _kept(glyphs, objects)
    _divide_ligatures(glyphs, objects)
    return glyphs.only(kept)


def _empty() -> tuple[Any, ...]:
    floats = np.zeros(0, np.float32)
    return np.zeros(0, np.uint32), floats, floats, floats, np.zeros(0, np.int32)


def _kept(glyphs: Glyphs, objects: npt.NDArray[np.uintp]) -> npt.NDArray[np.bool_]:
    """False for line feeds, places that are no numbers, and a glyph drawn again almost where the same one stands.

    The two halves of a ligature share one box but also one text object: they are no doubles.
    """
    kept: npt.NDArray[np.bool_] = (glyphs.codes != 0x0A) & np.isfinite(glyphs.u0 + glyphs.u1 + glyphs.baseline)
    candidates = np.flatnonzero(kept & ~glyphs.blank)
    if len(candidates) < 2:
        return kept
    size = glyphs.size
    row = np.round(glyphs.baseline[candidates] / 2)
    order = candidates[np.lexsort((candidates, glyphs.u0[candidates], row, glyphs.codes[candidates]))]
    first, second = order[:-1], order[1:]
    near = 0.12 * size[second]
    double = (
        (glyphs.codes[first] == glyphs.codes[second])
        & (np.abs(glyphs.u0[first] - glyphs.u0[second]) < near)
        & (np.abs(glyphs.baseline[first] - glyphs.baseline[second]) < near)
        & (objects[first] != objects[second])
        & (glyphs.style[first] == glyphs.style[second])
    )
    kept[np.maximum(first, second)[double]] = False
    return kept


def _divide_ligatures(glyphs: Glyphs, objects: npt.NDArray[np.uintp]) -> None:
    """pdfium spells a ligature out and gives every letter the whole box: share it out, a place for each."""
    same = (
        (objects[1:] == objects[:-1])
        & (glyphs.u0[1:] == glyphs.u0[:-1])
        & (glyphs.u1[1:] == glyphs.u1[:-1])
        & (glyphs.u1[1:] > glyphs.u0[1:])
    )
    index = 0
    shared = np.flatnonzero(same)
    while index < len(shared):
        first = last = int(shared[index])
        while index < len(shared) and shared[index] == last:
            last, index = last + 1, index + 1
        edges = np.linspace(glyphs.u0[first], glyphs.u1[first], last - first + 2)
        glyphs.u0[first : last + 1], glyphs.u1[first : last + 1] = edges[:-1], edges[1:]


def _readable(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint32]:
    """Characters that a text may hold: U+FFFD for a glyph of no known meaning, U+FFFE for pdfium's line-end mark."""
    codes = np.where(codes == 0x02, np.uint32(LINE_END_HYPHEN), codes)
    unusable = (codes == 0) | ((codes >= 0xD800) & (codes <= 0xDFFF)) | (codes > 0x10FFFF)
    return np.where(unusable, np.uint32(0xFFFD), codes).astype(np.uint32)
