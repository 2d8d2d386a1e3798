"""List items and entries of a table of contents, told by how their text begins or ends."""

from __future__ import annotations

import re

__all__ = ["is_contents_entry", "marker", "section_number"]

MARKER = re.compile(
    r"\s*(?:[•‣▪▫◦●○■□◆❖➢➤✓·\uf0b7\uf0a7*\-–—]|\(?\d{1,3}[.)]|\(\d{1,3}\)|\(?[A-Za-z][.)]|\(?[ivxlcIVXLC]{1,6}[.)]"
    r"|[①-⑳])(?=\s+\S)"
)

SECTION = re.compile(r"\s*(?:§\s*)?\d{1,3}(?:\.\d{1,3}){1,5}\.?(?=\s+\S)")

LEADER = re.compile(r"(?:[.·…]\s?){4,}\s*[\divxlcIVXLC]*\s*$")


def marker(text: str) -> str | None:
    """The bullet, number or letter that opens a list item, if there is one."""
    match = MARKER.match(text)
    return match[0].strip() if match else None


def section_number(text: str) -> str | None:
    """The dotted number that opens a numbered heading, if there is one."""
    match = SECTION.match(text)
    return match[0].strip() if match else None


def is_contents_entry(text: str) -> bool:
    """Does the line end in dot leaders, with or without a page number?"""
    return LEADER.search(text) is not None
