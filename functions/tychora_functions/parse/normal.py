"""Text made readable, for display and for matching: joined at line ends, without typographic accidents."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["normalised"]

SOFT = "\u00ad\ufffe\u0002"
"""What may stand for a hyphen at the end of a line: the soft hyphen, and pdfium's two marks for soft *or* hard ones."""

LINE_END = re.compile(rf"(\w[\w'’-]*?)[{SOFT}]+[^\S\n]*\n\s*(\w+)")
HARD_LINE_END = re.compile(r"([-\u2010\u2011])(?<=\w.)[^\S\n]*\n\s*(?=\w)")
INVISIBLE = re.compile(rf"[{SOFT}\u0000\u200b\u2060\ufeff]")
LIGATURES = {code: unicodedata.normalize("NFKC", chr(code)) for code in range(0xFB00, 0xFB07)}

COMPOUND = frozenset(
    ("cross", "ex", "full", "half", "high", "ill", "long", "low", "quasi", "self", "short", "three", "two", "well")
)
"""English first halves that are hyphened far more often than they begin a longer word divided there."""

SUFFIXES = ("ness", "ing", "ish", "er", "est", "ly")


def normalised(text: str) -> str:
    """`text` for display: words divided at a line end are whole, ligatures spelled out, blanks single.

    A soft hyphen or a mark of unknown hardness at a line end is dropped, unless the word shows that its hyphen is
    real (a figure or a capital next to it, a hyphen in it already, a known first half such as "well"); a real hyphen
    stays and its word is joined. The result has no U+FFFE, U+00AD and U+0000.
    """
    if any(mark in text for mark in SOFT):  # most texts have none, and the pattern tries every word
        text = LINE_END.sub(lambda match: match[1] + ("-" if _is_hard(match[1], match[2]) else "") + match[2], text)
    text = HARD_LINE_END.sub(r"\1", text)
    if not text.isascii() or "\0" in text or "\x02" in text:
        text = INVISIBLE.sub("", text).translate(LIGATURES)
    return " ".join(text.split())


def _is_hard(first: str, second: str) -> bool:
    """Does the hyphen between two halves of a word belong to it?"""
    if first[-1].isdigit() or second[0].isdigit() or "-" in first:
        return True
    if second[0].isupper() and not first.isupper():
        return True
    return first.lower() in COMPOUND and len(second) > 3 and second.lower() not in SUFFIXES
