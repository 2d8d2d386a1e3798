"""What the file's core properties (ECMA-376 part 2, Dublin Core) say about it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

__all__ = ["language", "title"]

DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
NO_TITLE = re.compile(r"(microsoft word\b.*|untitled.*|title|document\d*|.*\.do[ct][xm]?|\W*)", re.IGNORECASE)
"""What programs put where the author gave no title."""


def title(core: Element | None) -> str | None:
    """The title, unless it is blank or made up by a program."""
    text = " ".join(_value(core, "title").split())
    return None if NO_TITLE.fullmatch(text) else text


def language(core: Element | None) -> str | None:
    """The language as an ISO 639-1 code, where the properties state one."""
    match = re.match(r"([a-z]{2})(?:[-_]|$)", _value(core, "language").strip().lower())
    return match[1] if match else None


def _value(core: Element | None, name: str) -> str:
    found = None if core is None else core.find(DUBLIN_CORE + name)
    return "" if found is None else found.text or ""
