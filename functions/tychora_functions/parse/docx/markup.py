"""The names of WordprocessingML (ECMA-376 part 1) and how its attribute values are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = [
    "ALTERNATE",
    "CHOICE",
    "FALLBACK",
    "MATH",
    "RELATION",
    "STRICT",
    "TRANSPARENT",
    "WORD",
    "integer",
    "is_on",
    "local_name",
    "setting",
    "word",
]

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
COMPATIBILITY = "http://schemas.openxmlformats.org/markup-compatibility/2006"

STRICT = {
    "http://purl.oclc.org/ooxml/wordprocessingml/main": WORD,
    "http://purl.oclc.org/ooxml/officeDocument/math": MATH,
    "http://purl.oclc.org/ooxml/officeDocument/relationships": RELATION,
}
"""Namespaces of the standard's strict variant, and what nearly all files say in their place."""


def word(name: str) -> str:
    """The full tag or attribute name of `w:name`."""
    return f"{{{WORD}}}{name}"


ALTERNATE = f"{{{COMPATIBILITY}}}AlternateContent"
CHOICE = f"{{{COMPATIBILITY}}}Choice"
FALLBACK = f"{{{COMPATIBILITY}}}Fallback"

TRANSPARENT = frozenset(
    word(name)
    for name in (
        "sdt",
        "sdtContent",
        "customXml",
        "smartTag",
        "ins",
        "moveTo",
        "hyperlink",
        "fldSimple",
        "bdo",
        "dir",
    )
)
"""Elements that wrap content and say something about it, but are no place of their own in the text."""


def local_name(element: Element) -> str:
    """The tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def setting(element: Element | None, name: str) -> str | None:
    """`w:val` of the child `w:name`, or None if either is absent."""
    found = None if element is None else element.find(word(name))
    return None if found is None else found.get(word("val"))


def is_on(element: Element | None, name: str) -> bool:
    """Whether the toggle `w:name` is set: present, and not switched off by its value."""
    found = None if element is None else element.find(word(name))
    return found is not None and found.get(word("val"), "1") not in ("0", "false", "off")


def integer(value: str | None, default: int) -> int:
    """A decimal attribute value; anything that is no number of at most nine digits is `default`."""
    digits = (value or "").removeprefix("-")
    return int(value or "") if digits.isascii() and digits.isdigit() and len(digits) <= 9 else default
