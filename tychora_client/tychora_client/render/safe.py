"""Text from documents and paths, made harmless: what a terminal would obey or hide is shown instead."""

from __future__ import annotations

import re

__all__ = ["safe", "safe_line"]

OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 but tab and line feed, DEL, C1: escape sequences begin with them
    "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # invisible, or reorders text
    "\ud800-\udfff\U000e0000-\U000e007f]"  # lone surrogates: bytes of a name that are no UTF-8; tags
)
CARRIAGE_RETURN = re.compile(r"\r\n?")
LINE_END_HYPHEN = "\ufffe"
"""What a PDF's text layer has for the hyphen at the end of a line."""


def safe(text: str) -> str:
    """`text` with control, invisible and reordering characters spelled out; line ends and tabs stay."""
    return OBEYED.sub(_shown, CARRIAGE_RETURN.sub("\n", text.replace(LINE_END_HYPHEN, "-")))


def safe_line(text: str) -> str:
    """The same on one line: line ends and tabs are spelled out too."""
    return safe(text).replace("\n", "␊").replace("\t", " ")


def _shown(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if code == 0xAD:
        return ""
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    return f"<U+{code:04X}>"
