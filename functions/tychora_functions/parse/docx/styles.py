"""Paragraph styles: which of them are headings, titles or captions, and which number their paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tychora_functions.parse.docx.markup import integer, setting, word

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["BODY_TEXT", "Styles"]

BODY_TEXT = 10
"""The level of what is no heading: one more than the outline's nine."""
HEADING = re.compile(r"heading ?([1-9])", re.IGNORECASE)


class Styles:
    """The style sheet. Built-in styles are known by their names, which Word stores in English whatever the
    language of their ids; what a style leaves open, the style it is based on decides.
    """

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Element] = {}
        self._default: str | None = None
        for style in () if root is None else root.iterfind(word("style")):
            identity = style.get(word("styleId"))
            if identity is not None and style.get(word("type")) in (None, "paragraph", "numbering"):
                self._styles.setdefault(identity, style)
                if style.get(word("default")) in ("1", "true", "on") and style.get(word("type")) == "paragraph":
                    self._default = self._default or identity
        self._levels: dict[str | None, int] = {}
        self._numbers: dict[str | None, tuple[str | None, str | None]] = {}

    def level(self, identity: str | None) -> int:
        """The outline level of a style's paragraphs, 1 the highest; `BODY_TEXT` if they are no headings."""
        if identity not in self._levels:
            self._levels[identity] = self._find_level(identity)
        return self._levels[identity]

    def is_named(self, identity: str | None, name: str) -> bool:
        """Whether the style or one it is based on bears this (lower-case) name."""
        return any(self._name(style) == name for _, style in self._lineage(identity))

    def numbering(self, identity: str | None) -> tuple[str | None, str | None]:
        """(numId, ilvl) that a style gives to its paragraphs; None for what it leaves open."""
        if identity not in self._numbers:
            self._numbers[identity] = self._find_numbering(identity)
        return self._numbers[identity]

    def lineage(self, identity: str | None) -> tuple[str, ...]:
        """The ids of the style and of those it is based on."""
        return tuple(found for found, _ in self._lineage(identity))

    def _lineage(self, identity: str | None) -> Iterator[tuple[str, Element]]:
        identity = identity if identity is not None else self._default
        seen: set[str] = set()
        while identity is not None and identity not in seen and identity in self._styles:
            seen.add(identity)
            yield identity, self._styles[identity]
            identity = setting(self._styles[identity], "basedOn")

    def _find_level(self, identity: str | None) -> int:
        for _, style in self._lineage(identity):
            stated = setting(style.find(word("pPr")), "outlineLvl")
            if stated is not None:
                return min(max(integer(stated, 9), 0), 9) + 1
            named = HEADING.fullmatch(self._name(style))
            if named:
                return int(named[1])
            if self._name(style) == "title":
                return 1
        named = None if identity in self._styles else HEADING.fullmatch(identity or "")
        return int(named[1]) if named else BODY_TEXT

    def _find_numbering(self, identity: str | None) -> tuple[str | None, str | None]:
        number: str | None = None
        depth: str | None = None
        for _, style in self._lineage(identity):
            properties = style.find(word("pPr"))
            numbering = None if properties is None else properties.find(word("numPr"))
            number = number if number is not None else setting(numbering, "numId")
            depth = depth if depth is not None else setting(numbering, "ilvl")
        return number, depth

    @staticmethod
    def _name(style: Element) -> str:
        return (setting(style, "name") or "").strip().lower()
