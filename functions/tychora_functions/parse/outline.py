"""The headings above a place in a document."""

from __future__ import annotations

__all__ = ["Outline"]


class Outline:
    """Follows the headings of a document in reading order; `path` is the titles in force, outermost first."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    @property
    def path(self) -> tuple[str, ...]:
        """The titles above whatever comes next."""
        return tuple(title for _, title in self._open)

    def enter(self, level: int, title: str) -> tuple[str, ...]:
        """Begin the section `title` at `level` (1 the outermost); returns the path above its heading."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        above = self.path
        self._open.append((level, title))
        return above
