"""The headings above a place."""

from __future__ import annotations

__all__ = ["Outline"]


class Outline:
    """Follows a document's headings as they come."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    @property
    def path(self) -> tuple[str, ...]:
        """The headings in force, outermost first."""
        return tuple(text for _, text in self._open)

    def enter(self, level: int, text: str) -> tuple[str, ...]:
        """Go under a heading; returns the headings above it."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        above = self.path
        self._open.append((level, text))
        return above
