"""The two frames of a page: as displayed, and upright, where a text's lines run left to right.

Displayed: points from the top left corner of the page as a reader shows it, its crop box and /Rotate applied.
Upright: displayed turned by quarter turns until a line of text reads along +u and the next line stands at greater v.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "PageFrame"]

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PageFrame:
    """The visible rectangle of a page in its own user space, and how often /Rotate turns it clockwise."""

    left: float
    bottom: float
    right: float
    top: float
    turns: int

    @property
    def width(self) -> float:
        return self.right - self.left if self.turns % 2 == 0 else self.top - self.bottom

    @property
    def height(self) -> float:
        return self.top - self.bottom if self.turns % 2 == 0 else self.right - self.left

    def displayed(self, x: Any, y: Any) -> tuple[Any, Any]:
        """User space to displayed, for numbers or arrays."""
        match self.turns:
            case 0:
                return x - self.left, self.top - y
            case 1:
                return y - self.bottom, x - self.left
            case 2:
                return self.right - x, y - self.bottom
            case _:
                return self.top - y, self.right - x

    def upright(self, x: Any, y: Any, quarter: int) -> tuple[Any, Any]:
        """Displayed to upright, for text turned clockwise by `quarter` quarter turns."""
        match quarter:
            case 0:
                return x, y
            case 1:
                return y, self.width - x
            case 2:
                return self.width - x, self.height - y
            case _:
                return self.height - y, x

    def rectangle(self, u0: Any, v0: Any, u1: Any, v1: Any, quarter: int) -> tuple[Any, Any, Any, Any]:
        """An upright rectangle as displayed, `(x0, y0, x1, y1)`, for numbers or arrays."""
        match quarter:
            case 0:
                return u0, v0, u1, v1
            case 1:
                return self.width - v1, u0, self.width - v0, u1
            case 2:
                return self.width - u1, self.height - v1, self.width - u0, self.height - v0
            case _:
                return v0, self.height - u1, v1, self.height - u0
