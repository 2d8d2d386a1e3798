"""A terminal's means: colour where it is wanted, the width of characters, lines that fit."""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TextIO

from tychora_client.render.safe import safe, safe_line

__all__ = ["Marked", "Style", "marked_text", "paint", "shorten", "terminal_width", "width", "wrap"]

CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36", "hit": "1;33"}
WIDEST = 100
"""Longer lines are hard to read."""


@dataclass(frozen=True, slots=True)
class Style:
    """Paints text, or leaves it as it is."""

    colour: bool = False
    columns: int = 80

    @classmethod
    def of(cls, stream: TextIO) -> Style:
        """Colour on a terminal, unless `NO_COLOR` is set or the terminal is dumb; its width, at most 100."""
        shows = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return cls(shows, min(terminal_width(), WIDEST))

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{CODES[name]}m{text}\x1b[0m" if self.colour and text else text


def terminal_width() -> int:
    """Columns of the terminal; 80 where there is none."""
    return max(20, shutil.get_terminal_size((80, 24)).columns)


def width(text: str) -> int:
    """Columns that `text` takes: East Asian wide characters two, combining ones none."""
    return len(text) if text.isascii() else sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str, columns: int) -> str:
    """`text` on one line of at most `columns`; a longer one loses its middle, since paths differ at both ends."""
    line = safe_line(text)
    if width(line) <= columns:
        return line
    kept = max(columns - 1, 1)
    head, tail = "", ""
    for character in line:
        if width(head + character) > kept // 3:
            break
        head += character
    for character in reversed(line):
        if width(head + character + tail) > kept:
            break
        tail = character + tail
    return f"{head}…{tail}"


Marked = list[tuple[str, bool]]
"""Characters, each with whether it is part of a match."""


def marked_text(text: str, spans: Sequence[tuple[int, int]]) -> Marked:
    """Harmless characters of `text`; those inside `spans` (characters of `text`) are marked."""
    inside = set[int]().union(*(range(start, end) for start, end in spans))
    runs = groupby(range(len(text)), key=lambda at: at in inside)
    shown: Marked = []
    for marked, positions in runs:
        run = list(positions)
        shown += [(character, marked) for character in safe(text[run[0] : run[-1] + 1]).expandtabs(4)]
    return shown


def wrap(text: Marked, columns: int) -> list[Marked]:
    """Lines of at most `columns`, broken at blanks where there are any; line ends of the text are kept."""
    lines: list[Marked] = [[]]
    used = 0
    blank = -1
    for character, marked in text:
        if character == "\n":
            lines.append([])
            used, blank = 0, -1
            continue
        line = lines[-1]
        size = _columns(character)
        if used + size > columns and line:
            if character == " ":
                lines.append([])
                used, blank = 0, -1
                continue
            carried = line[blank + 1 :] if blank >= 0 else []
            if blank >= 0:
                del line[blank:]
            lines.append(carried)
            line = carried
            used = sum(_columns(each) for each, _ in carried)
            blank = -1
        if character == " ":
            blank = len(line)
        line.append((character, marked))
        used += size
    return lines


def paint(line: Marked, style: Style) -> str:
    """A line with its marked characters highlighted."""
    runs = groupby(line, key=lambda each: each[1])
    pieces = [("".join(character for character, _ in run), marked) for marked, run in runs]
    return "".join(style("hit", piece) if marked else piece for piece, marked in pieces)
