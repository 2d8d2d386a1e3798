"""Characters, bytes and lines of a text file: where each stands in terms of the others."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import accumulate, pairwise

from tychora_functions.parse.decode import Decoded, decode
from tychora_functions.parse.units import Unit, UnitKind
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.locator import Locator

__all__ = ["TextMap", "Tiler", "read_at", "split"]

_LINE_END = re.compile(r"\r\n|\r|\n")
_STRIDE = 256
_ONE_BYTE = re.compile(r"ascii|latin|iso8859|cp125|cp4|cp85|koi8|mac")
_STATEFUL = re.compile(r"iso2022|hz|utf-?_?7|2004|jisx0213|hkscs")
"""Encodings in which a part of the bytes does not decode to that part of the text."""


class TextMap:
    """Offsets of a decoded text.

    Characters count from the text's first (the byte order mark is no text), bytes from the file's first, lines from
    1; `\\n`, `\\r\\n` and `\\r` each end one line, nothing else does.
    """

    def __init__(self, decoded: Decoded) -> None:
        self.text = decoded.text
        self.encoding = decoded.encoding
        self._bom_length = decoded.bom_length
        self._uniform = _width(decoded)

    @classmethod
    def of(cls, data: bytes) -> TextMap:
        """The map of a whole file; raises what `decode` raises."""
        return cls(decode(data))

    @cached_property
    def line_starts(self) -> list[int]:
        """The character at which each line begins."""
        return [0, *(end.end() for end in _LINE_END.finditer(self.text))]

    @cached_property
    def _checkpoints(self) -> list[int]:
        """The byte at which every 256th character begins: the rest of the way is encoded when asked."""
        pieces = (self.text[at : at + _STRIDE] for at in range(0, len(self.text), _STRIDE))
        sizes = (len(piece.encode(self.encoding)) for piece in pieces)
        return list(accumulate(sizes, initial=self._bom_length))

    @property
    def literal(self) -> bool:
        """Whether a part of the file's bytes decodes to that part of the text (not so in ISO-2022-JP)."""
        return not _STATEFUL.search(self.encoding)

    def byte(self, character: int) -> int:
        """The byte offset in the file of a character offset in the text; both may stand at the end."""
        if self._uniform:
            return self._bom_length + character * self._uniform
        block = character // _STRIDE
        return self._checkpoints[block] + len(self.text[block * _STRIDE : character].encode(self.encoding))

    def character(self, byte: int) -> int:
        """The character offset of a byte offset; within a multi-byte character, that character's."""
        if self._uniform:
            return max(0, byte - self._bom_length) // self._uniform
        block = min(max(0, bisect_right(self._checkpoints, byte) - 1), len(self.text) // _STRIDE)
        piece = self.text[block * _STRIDE : (block + 1) * _STRIDE].encode(self.encoding)
        before = piece[: max(0, byte - self._checkpoints[block])]
        return block * _STRIDE + len(before.decode(self.encoding, "ignore"))

    def line(self, character: int) -> int:
        """The number of the line that holds a character, from 1."""
        return bisect_right(self.line_starts, character)

    def locator(self, start: int, end: int, *, path: str | None = None) -> Locator:
        """Where `text[start:end]` stands: lines and bytes; for a stateful encoding lines and characters."""
        lines = (self.line(start), self.line(max(start, end - 1)))
        if not self.literal:
            return Locator(lines=lines, characters=(start, end), path=path, transform=self.encoding)
        encoding = None if self.encoding == "utf-8" else self.encoding
        return Locator(lines=lines, bytes=(self.byte(start), self.byte(end)), encoding=encoding, path=path)

    def place(self, offset: int, *, path: str | None = None) -> Callable[[int, int], Locator]:
        """The `place` of a unit whose text begins at character `offset`."""

        def locate(start: int, end: int) -> Locator:
            return self.locator(offset + start, offset + end, path=path)

        return locate

    def lines(self) -> Iterator[tuple[int, int]]:
        """The character range of each line, its line end included; the last may lack one."""
        starts = self.line_starts
        yield from pairwise(starts)
        if starts[-1] < len(self.text):
            yield starts[-1], len(self.text)


class Tiler:
    """Makes the units of a text out of ascending ranges of it; each unit's gap is the text since the one before."""

    def __init__(self, text_map: TextMap) -> None:
        self.units: list[Unit] = []
        self._map = text_map
        self._end = 0

    def add(
        self,
        kind: UnitKind,
        start: int,
        end: int,
        *,
        heading_path: tuple[str, ...] = (),
        level: int = 0,
        path: str | None = None,
        attributes: dict[str, str] | None = None,
        keep_indent: bool = False,
        exact: bool = False,
    ) -> None:
        """Add `text[start:end]` without blank edges (`exact`: with them); a blank range adds nothing.

        `keep_indent` leaves the first line its indentation, where lines are laid out in columns.
        """
        text = self._map.text
        piece = text[start:end]
        first = start + len(piece) - len(piece.lstrip())
        last = start + len(piece.rstrip())
        if first >= last:
            return
        if exact:
            first, last = start, end
        elif keep_indent:
            while first > start and text[first - 1] not in "\r\n\f":
                first -= 1
        self.units.append(
            Unit(
                kind,
                text[first:last],
                self._map.place(first, path=path),
                heading_path,
                level,
                text[self._end : first],
                attributes or {},
            )
        )
        self._end = last


def read_at(data: bytes, locator: Locator) -> str:
    """The text at a locator of a text file, read again from the file's own bytes.

    Raises InvalidRequest for a locator without bytes or characters, and for bytes that do not decode.
    """
    if locator.bytes is not None:
        start, end = locator.bytes
        try:
            return data[start:end].decode(locator.encoding or "utf-8")
        except (UnicodeDecodeError, LookupError) as error:
            raise InvalidRequest(
                f"Bytes {start} to {end} of the file are not text in {locator.encoding or 'utf-8'}.",
                next_step="Check that the locator belongs to this revision of the file.",
            ) from error
    if locator.characters is not None:
        start, end = locator.characters
        return decode(data).text[start:end]
    raise InvalidRequest("The locator names no bytes.", next_step="Pass a locator that a text parser made.")


_CUTS = (
    re.compile(r"(?:\r\n|\r|\n)[^\S\r\n]*(?:\r\n|\r|\n)"),
    _LINE_END,
    re.compile(r"[.!?…]['\"’”)\]]*\s|[。！？；]['\"’”）」』]*"),
    re.compile(r"\s"),
)
"""Where a long text is divided, best first: a blank line, a line end, a sentence end, a blank."""


def split(text: str, start: int, end: int, limit: int = 2000) -> list[tuple[int, int]]:
    """Adjacent ranges that together are `text[start:end]`, each of at most `limit` characters.

    Cut where it hurts least: after a blank line, a line, a sentence, a word; failing that between two characters, but
    never inside CR LF or before a combining mark.
    """
    ranges = []
    while end - start > limit:
        cut = _cut(text, start, start + limit)
        ranges.append((start, cut))
        start = cut
    return [*ranges, (start, end)]


def _cut(text: str, start: int, latest: int) -> int:
    earliest = start + (latest - start) // 4
    for pattern in _CUTS:
        ends = [found.end() for found in pattern.finditer(text, earliest, latest)]
        if ends and not _inside_line_end(text, ends[-1]):
            return ends[-1]
    cut = latest
    while cut > earliest and (_inside_line_end(text, cut) or unicodedata.combining(text[cut])):
        cut -= 1
    return cut if cut > earliest else latest


def _inside_line_end(text: str, position: int) -> bool:
    return text[position - 1 : position + 1] == "\r\n"


def _width(decoded: Decoded) -> int:
    """Bytes per character where all have the same number, else 0."""
    if decoded.encoding.startswith("utf-32"):
        return 4
    if decoded.encoding.startswith("utf-16"):
        return 2 if not decoded.text or max(decoded.text) <= "\uffff" else 0
    if decoded.text.isascii() or _ONE_BYTE.match(decoded.encoding):
        return 1
    return 0
