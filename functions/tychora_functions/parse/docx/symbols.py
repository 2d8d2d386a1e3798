"""Characters of the old symbol fonts, whose codes are places in the font and no Unicode."""

from __future__ import annotations

__all__ = ["symbol"]

GREEK_CAPITALS = "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ"
GREEK_SMALL = "αβχδεφγηιϕκλμνοπθρστυϖωξψζ"
SYMBOL = (
    dict(zip(range(0x41, 0x5B), GREEK_CAPITALS, strict=True))
    | dict(zip(range(0x61, 0x7B), GREEK_SMALL, strict=True))
    | {0xA3: "≤", 0xA5: "∞", 0xAB: "↔", 0xAC: "←", 0xAE: "→", 0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xB4: "×"}
    | {0xB6: "∂", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBA: "≡", 0xBB: "≈", 0xCE: "∈", 0xD6: "√", 0xE5: "∑"}
)
WINGDINGS = {
    0x6C: "●",
    0x6E: "■",
    0x6F: "□",
    0x71: "❑",
    0x76: "❖",
    0x9F: "•",
    0xA7: "▪",
    0xA8: "◻",
    0xD8: "➢",
} | {0xE0: "→", 0xFB: "✗", 0xFC: "✓", 0xFD: "☒", 0xFE: "☑"}
FONTS = {"symbol": SYMBOL, "wingdings": WINGDINGS}


def symbol(character: str, font: str) -> str:
    """The Unicode character for one of a symbol font's (given directly or in U+F000…F0FF, where Word keeps
    them).

    Fonts: Symbol and Wingdings, their usual signs. Anything else is returned as it is.
    """
    code = ord(character)
    place = code - 0xF000 if 0xF000 <= code <= 0xF0FF else code
    return FONTS.get(font.strip().lower(), {}).get(place, character)
