"""How a run of glyphs looks: its size, weight, direction, and whether a reader of the page sees it at all."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from typing import Any

from tychora_functions.parse.pdf.frame import PageFrame

__all__ = ["Style", "StyleReader"]

BOLD_NAME = ("bold", "black", "heavy", "-demi", "-medi", "cmbx", "sfbx", "cmssbx")
"""In font names; the last ones are those of TeX and of the PostScript clones that it uses."""
BOLD_WEIGHT = 600
FORCE_BOLD = 1 << 18
"""Font descriptor flag, ISO 32000-1 table 123."""

INVISIBLE_MODES = (3, 7)
"""Text render modes that paint nothing: invisible, and clip only."""

SMALLEST = 1.0
"""Points below which nobody reads a glyph."""

WHITE = 250


@dataclass(frozen=True, slots=True)
class Style:
    """`size` in points as displayed; `quarter` clockwise quarter turns of the writing direction as displayed."""

    size: float
    bold: bool
    quarter: int
    skewed: bool
    invisible: bool
    """Painted with no ink: a recognised text under its scan, or hidden text."""
    faint: bool
    """Too small to read, or fully transparent."""
    white: bool

    @classmethod
    def plain(cls) -> Style:
        return cls(10.0, False, 0, False, False, False, False)


class StyleReader:
    """Reads styles by text object; `styles` are the different ones met, in order."""

    def __init__(self, text_page: Any, frame: PageFrame) -> None:
        self.styles: list[Style] = []
        self._known: dict[Style, int] = {}
        self._bold: dict[int, bool] = {}
        self._text_page, self._frame = text_page, frame
        self._doubles = [ctypes.c_double() for _ in range(2)]

    def origin(self, index: int) -> tuple[float, float]:
        """The displayed point on the baseline where the glyph starts."""
        import pypdfium2.raw as pdfium

        x, y = self._doubles
        pdfium.FPDFText_GetCharOrigin(self._text_page, index, x, y)
        return self._frame.displayed(x.value, y.value)

    def style(self, index: int, text_object: Any, height: float) -> int:
        """The style of the glyph at `index`, which belongs to `text_object` and has a box `height` points high."""
        import pypdfium2.raw as pdfium

        matrix = pdfium.FS_MATRIX()
        scale = 1.0
        if pdfium.FPDFText_GetMatrix(self._text_page, index, matrix):
            scale = math.hypot(matrix.c, matrix.d) or 1.0
        size = pdfium.FPDFText_GetFontSize(self._text_page, index) * scale
        turn = pdfium.FPDFText_GetCharAngle(self._text_page, index) / (math.pi / 2) + self._frame.turns
        quarter = round(turn)
        if quarter % 2 == 0 and height > 0 and not height / 3 <= size <= height * 3:
            size = 0.85 * height  # a Type 3 font's own matrix hides its size
        lightness, alpha = self._fill(text_object)
        style = Style(
            size=round(size, 1) if math.isfinite(size) and size > 0 else 10.0,
            bold=self._is_bold(text_object),
            quarter=quarter % 4,
            skewed=abs(turn - quarter) > 0.06,
            invisible=pdfium.FPDFTextObj_GetTextRenderMode(text_object) in INVISIBLE_MODES,
            faint=0 < size < SMALLEST or alpha == 0,
            white=lightness >= WHITE,
        )
        if style not in self._known:
            self._known[style] = len(self.styles)
            self.styles.append(style)
        return self._known[style]

    def _is_bold(self, text_object: Any) -> bool:
        import pypdfium2.raw as pdfium

        font = pdfium.FPDFTextObj_GetFont(text_object)
        if not font:
            return False
        key = ctypes.cast(font, ctypes.c_void_p).value or 0
        if key not in self._bold:
            buffer = ctypes.create_string_buffer(256)
            pdfium.FPDFFont_GetBaseFontName(font, buffer, 256)
            name = buffer.value.decode("latin-1").lower()
            self._bold[key] = (
                any(word in name for word in BOLD_NAME)
                or pdfium.FPDFFont_GetWeight(font) >= BOLD_WEIGHT
                or bool(pdfium.FPDFFont_GetFlags(font) & FORCE_BOLD)
            )
        return self._bold[key]

    def _fill(self, text_object: Any) -> tuple[int, int]:
        """The least of red, green and blue, and the alpha, 0 to 255; opaque black where there is no such colour."""
        import pypdfium2.raw as pdfium

        red, green, blue, alpha = (ctypes.c_uint() for _ in range(4))
        if not pdfium.FPDFPageObj_GetFillColor(text_object, red, green, blue, alpha):
            return 0, 255
        return min(red.value, green.value, blue.value), alpha.value
