"""Automatic numbers: what Word prints before a paragraph, though no run holds it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tychora_functions.parse.docx.markup import integer, is_on, setting, word
from tychora_functions.parse.docx.symbols import symbol

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

    from tychora_functions.parse.docx.styles import Styles

__all__ = ["Label", "Numbering", "format_number"]

PLACE = re.compile(r"%([1-9])")
DEEPEST = 8
ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"))
ROMAN_UNITS = ((10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))
LETTER_LIMIT = 780
"""The last number that Word writes as letters: 30 times `z`."""
CHINESE_DIGITS = "〇一二三四五六七八九"
CHINESE_FORMATS = frozenset({"chineseCounting", "chineseCountingThousand", "japaneseCounting", "taiwaneseCounting"})


@dataclass(slots=True, frozen=True)
class Label:
    """What stands before a paragraph: a number as printed, or a bullet."""

    text: str
    is_bullet: bool


@dataclass(slots=True, frozen=True)
class _Level:
    start: int
    format: str
    template: str
    restart: int
    """The level falls back to its start after a paragraph of this depth or a higher one (1-based); 0: never.
    """
    legal: bool
    style: str | None
    font: str


@dataclass(slots=True)
class _Instance:
    abstract: str
    starts: dict[int, int]
    levels: dict[int, _Level]


class Numbering:
    """The lists of one document and how far each has counted. `label` is to be asked in document order, once
    a paragraph. Lists that share an abstract definition count on; an instance with its own start restarts
    once.
    """

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._styles = styles
        self._abstract: dict[str, dict[int, _Level]] = {}
        self._links: dict[str, str] = {}
        self._instances: dict[str, _Instance] = {}
        self._counters: dict[str, dict[int, int]] = {}
        self._restarted: set[tuple[str, int]] = set()
        if root is None:
            return
        for abstract in root.iterfind(word("abstractNum")):
            identity = abstract.get(word("abstractNumId"), "")
            self._abstract[identity] = dict(_levels(abstract))
            link = setting(abstract, "numStyleLink")
            if link is not None:
                self._links[identity] = link
        for number in root.iterfind(word("num")):
            self._instances[number.get(word("numId"), "")] = _instance(number)

    def depth(self, number: str, style: str | None) -> int | None:
        """The level (0-based) that a list reserves for paragraphs of this style, if it does."""
        found = self._definition(number)
        for identity in self._styles.lineage(style):
            for depth, level in (found[1] if found else {}).items():
                if level.style == identity:
                    return depth
        return None

    def label(self, number: str, depth: int) -> Label | None:
        """Count a paragraph of list `number` (its numId) at `depth` (0-based); None if nothing is printed."""
        found = self._definition(number)
        if found is None or depth not in found[1]:
            return None
        abstract, levels, starts = found
        counters = self._counters.setdefault(abstract, {})
        if depth in starts and (number, depth) not in self._restarted:
            self._restarted.add((number, depth))
            counters[depth] = starts[depth]
        else:
            counters[depth] = counters[depth] + 1 if depth in counters else levels[depth].start
        for skipped in range(depth):
            # A level that was passed over counts as begun: 2, then 2.1.1, then 2.2.
            if skipped in levels:
                counters.setdefault(skipped, levels[skipped].start)
        for deeper in [other for other in counters if other > depth]:
            if deeper in levels and depth < levels[deeper].restart:
                del counters[deeper]
        return _print(levels, counters, depth)

    def _definition(self, number: str) -> tuple[str, dict[int, _Level], dict[int, int]] | None:
        instance = self._instances.get(number)
        starts = instance.starts if instance else {}
        for _ in range(len(self._links) + 1):
            if instance is None or instance.abstract not in self._abstract:
                return None
            link = self._links.get(instance.abstract)
            if link is None:
                return instance.abstract, self._abstract[instance.abstract] | instance.levels, starts
            instance = self._instances.get(self._styles.numbering(link)[0] or "")
        return None


def format_number(value: int, form: str) -> str:
    """`value` in one of the standard's number formats; a format that is not known here counts in decimals."""
    if form == "none":
        return ""
    if form == "decimalZero":
        return f"{value:02d}"
    if form in ("upperRoman", "lowerRoman") and 0 < value < 4000:
        text = _roman(value)
    elif form in ("upperLetter", "lowerLetter") and 0 < value <= LETTER_LIMIT:
        text = "abcdefghijklmnopqrstuvwxyz"[(value - 1) % 26] * ((value - 1) // 26 + 1)
    elif form in CHINESE_FORMATS and 0 < value < 100:
        return _chinese(value)
    elif form == "ordinal":
        return f"{value}{_ordinal_ending(value)}"
    else:
        return str(value)
    return text.upper() if form.startswith("upper") else text


def _instance(number: Element) -> _Instance:
    starts: dict[int, int] = {}
    levels: dict[int, _Level] = {}
    for override in number.iterfind(word("lvlOverride")):
        depth = integer(override.get(word("ilvl")), 0)
        replaced = dict(_levels(override))
        levels |= replaced
        start = setting(override, "startOverride")
        if start is not None:
            starts[depth] = integer(start, 1)
        elif depth in replaced:
            starts[depth] = replaced[depth].start
    return _Instance(setting(number, "abstractNumId") or "", starts, levels)


def _levels(parent: Element) -> list[tuple[int, _Level]]:
    found = []
    for element in parent.iterfind(word("lvl")):
        depth = integer(element.get(word("ilvl")), 0)
        fonts = element.find(f"{word('rPr')}/{word('rFonts')}")
        level = _Level(
            start=integer(setting(element, "start"), 0),
            format=setting(element, "numFmt") or "decimal",
            template=setting(element, "lvlText") or "",
            restart=integer(setting(element, "lvlRestart"), depth),
            legal=is_on(element, "isLgl"),
            style=setting(element, "pStyle"),
            font="" if fonts is None else fonts.get(word("ascii"), ""),
        )
        if 0 <= depth <= DEEPEST:
            found.append((depth, level))
    return found


def _print(levels: dict[int, _Level], counters: dict[int, int], depth: int) -> Label | None:
    level = levels[depth]
    if level.format == "bullet":
        bullet = "".join(symbol(character, level.font) for character in level.template)
        return Label(bullet, True) if bullet.strip() else None

    def count(match: re.Match[str]) -> str:
        place = int(match[1]) - 1
        if place not in levels:
            return ""
        shown = levels[place]
        form = "decimal" if level.legal else shown.format
        return format_number(counters.get(place, shown.start), form)

    text = PLACE.sub(count, level.template)
    return Label(text, False) if text.strip() else None


def _roman(value: int) -> str:
    text = ""
    for size, letters in ROMAN + ROMAN_UNITS:
        text += letters * (value // size)
        value %= size
    return text


def _chinese(value: int) -> str:
    tens, ones = divmod(value, 10)
    leading = ("" if tens == 1 else CHINESE_DIGITS[tens]) + "十" if tens else ""
    return leading + (CHINESE_DIGITS[ones] if ones else "")


def _ordinal_ending(value: int) -> str:
    if 10 <= value % 100 <= 20:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
