"""Fragments: glyphs that touch, in pdfium's order; and rows: fragments that share a baseline across the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from tychora_functions.parse.pdf.glyphs import Glyphs

__all__ = ["Fragment", "Row", "fragments", "joined", "rows"]

BREAK = 0.6
"""Gap, in font sizes, that ends a fragment: narrower than any gutter, wider than most word spaces."""

WORD_GAP = 0.15
"""Gap, in font sizes, from which two fragments of a line are two words."""

TOUCHING = 0.04
"""Gap, in font sizes, below which a blank that pdfium made up is none: it stands between letters that touch."""

BASELINE = 0.3
"""How far, in font sizes, baselines of one row may lie apart."""

LEADER_DOTS = 5

CARRIAGE_RETURN, SPACE, DOT = 0x0D, 0x20, 0x2E


@dataclass(slots=True)
class Fragment:
    """Glyphs `first..last` of a page (both included and not blank); positions are upright."""

    first: int
    last: int
    u0: float
    u1: float
    baseline: float
    size: float
    bold: bool
    letters: int
    digits: int
    dots: int
    right_to_left: bool
    quarter: int
    unseen: bool

    @property
    def characters(self) -> int:
        return self.last - self.first + 1

    @property
    def leader(self) -> bool:
        """Does it hold dots that lead the eye to a page number?"""
        return self.dots >= LEADER_DOTS or self.dots == self.characters

    @property
    def numbering(self) -> bool:
        """Does it look like the number of a list item?"""
        return self.characters <= 5 and 0 < self.digits + self.letters < self.characters


@dataclass(slots=True)
class Row:
    """Fragments on one baseline, left to right."""

    baseline: float
    fragments: list[Fragment] = field(default_factory=list)

    @property
    def size(self) -> float:
        return max(fragment.size for fragment in self.fragments)

    @property
    def u0(self) -> float:
        return self.fragments[0].u0

    @property
    def u1(self) -> float:
        return max(fragment.u1 for fragment in self.fragments)


def fragments(glyphs: Glyphs, unseen: npt.NDArray[np.bool_]) -> list[Fragment]:
    """The fragments of a page. `unseen` says of every glyph whether a reader of the page cannot see it."""
    solid = np.flatnonzero(~glyphs.blank)
    if not len(solid):
        return []
    codes, u0, u1 = glyphs.codes[solid], glyphs.u0[solid], glyphs.u1[solid]
    baseline, size = glyphs.baseline[solid], glyphs.size[solid]
    quarter = np.array([style.quarter for style in glyphs.styles])[glyphs.style[solid]]
    bold = np.array([style.bold for style in glyphs.styles])[glyphs.style[solid]]
    hidden = unseen[solid]
    rightward = right_to_left(codes)
    letters = is_letter(codes)
    digits = (codes >= 0x30) & (codes <= 0x39)

    larger = np.maximum(size[1:], size[:-1])
    smaller = np.minimum(size[1:], size[:-1])
    onward, backward = u0[1:] - u1[:-1], u0[:-1] - u1[1:]
    shared = np.minimum(baseline[1:] + 0.2 * size[1:], baseline[:-1] + 0.2 * size[:-1]) - np.maximum(
        baseline[1:] - 0.8 * size[1:], baseline[:-1] - 0.8 * size[:-1]
    )
    steps_left = rightward[1:] | rightward[:-1]
    breaks = (
        (onward > BREAK * larger)
        | (backward > BREAK * larger)
        | ((u0[1:] < u0[:-1] - 0.5 * larger) & ~steps_left)
        | (shared < 0.5 * smaller)
        | (quarter[1:] != quarter[:-1])
        | (hidden[1:] != hidden[:-1])
    )
    starts = np.flatnonzero(np.r_[True, breaks])
    ends = np.r_[starts[1:], len(solid)]
    left, right = np.minimum.reduceat(u0, starts), np.maximum.reduceat(u1, starts)
    counts = (
        np.add.reduceat(flags.astype(np.int32), starts)
        for flags in (bold & letters, letters, digits, codes == DOT, rightward)
    )
    bolds, letter_counts, digit_counts, dot_counts, rightward_counts = (count.tolist() for count in counts)
    found = []
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        lead = start + int(np.argmax(size[start:end])) if end - start > 1 else start
        found.append(
            Fragment(
                first=int(solid[start]),
                last=int(solid[end - 1]),
                u0=float(left[number]),
                u1=float(right[number]),
                baseline=float(baseline[lead]),
                size=float(size[lead]),
                bold=2 * bolds[number] > letter_counts[number],
                letters=letter_counts[number],
                digits=digit_counts[number],
                dots=dot_counts[number],
                right_to_left=2 * rightward_counts[number] > letter_counts[number],
                quarter=int(quarter[start]),
                unseen=bool(hidden[start]),
            )
        )
    return found


def rows(parts: Sequence[Fragment]) -> list[Row]:
    """Fragments of one direction, grouped by baseline and sorted downwards. A small fragment beside a row (a raised
    note number that its file draws apart) belongs to it."""
    found: list[Row] = []
    for part in sorted(parts, key=lambda part: (part.baseline, part.u0)):
        if found and part.baseline - found[-1].baseline <= BASELINE * min(part.size, found[-1].fragments[0].size):
            found[-1].fragments.append(part)
        else:
            found.append(Row(part.baseline, [part]))
    _attach_small(found)
    for row in found:
        row.fragments.sort(key=lambda part: (part.u0, part.first))
    return [row for row in found if row.fragments]


def _attach_small(found: list[Row]) -> None:
    """Moves a row of small fragments into the next or previous row where each of them touches a larger one."""
    for index, row in enumerate(found):
        if len(row.fragments) > 40:
            continue
        for near in (index + 1, index - 1):
            if not 0 <= near < len(found) or not found[near].fragments:
                continue
            for part in list(row.fragments):
                if any(
                    part.size < 0.85 * other.size
                    and abs(part.baseline - other.baseline) < 0.6 * other.size
                    and -0.2 * other.size <= max(part.u0 - other.u1, other.u0 - part.u1) < 0.3 * other.size
                    for other in found[near].fragments
                ):
                    row.fragments.remove(part)
                    found[near].fragments.append(part)


def joined(glyphs: Glyphs, parts: Sequence[Fragment]) -> npt.NDArray[np.int64]:
    """The glyph indices of one line made of `parts`, in reading order; -1 stands for a blank that is no glyph.

    Parts read left to right; a line with right-to-left letters keeps pdfium's order, which is logical.
    """
    if any(part.right_to_left for part in parts):
        ordered = sorted(parts, key=lambda part: part.first)
    else:
        ordered = sorted(parts, key=lambda part: (part.u0, part.first))
    pieces: list[npt.NDArray[np.int64]] = []
    previous: Fragment | None = None
    for part in ordered:
        if previous is not None:
            gap = max(part.u0 - previous.u1, previous.u0 - part.u1)
            between = glyphs.blank[previous.last + 1 : part.first]
            divided = len(between) > 0 and bool(between.all())
            if divided or gap > WORD_GAP * max(part.size, previous.size):
                pieces.append(np.array([-1], np.int64))
        pieces.append(without_made_up_blanks(glyphs, np.arange(part.first, part.last + 1, dtype=np.int64)))
        previous = part
    return np.concatenate(pieces) if pieces else np.zeros(0, np.int64)


def without_made_up_blanks(glyphs: Glyphs, indices: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Drops generated blanks and line breaks between letters that touch; other line breaks stay, as blanks."""
    codes = glyphs.codes[indices]
    made_up = glyphs.blank[indices] & (glyphs.u1[indices] - glyphs.u0[indices] < 0.01)
    if not made_up.any():
        return indices
    solid = np.flatnonzero(~glyphs.blank[indices])
    kept = np.ones(len(indices), bool)
    after = np.searchsorted(solid, np.flatnonzero(made_up))
    for place, position in zip(np.flatnonzero(made_up).tolist(), after.tolist(), strict=True):
        if not 0 < position < len(solid):
            continue
        left, right = indices[solid[position - 1]], indices[solid[position]]
        gap = max(glyphs.u0[right] - glyphs.u1[left], glyphs.u0[left] - glyphs.u1[right])
        size = glyphs.styles[glyphs.style[right]].size
        least = WORD_GAP if codes[place] == CARRIAGE_RETURN else TOUCHING
        kept[place] = gap > least * size
    return indices[kept]


def right_to_left(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Hebrew, Arabic and their neighbours, presentation forms included."""
    return (
        ((codes >= 0x590) & (codes <= 0x8FF))
        | ((codes >= 0xFB1D) & (codes <= 0xFDFF))
        | ((codes >= 0xFE70) & (codes <= 0xFEFF))
    )


def is_letter(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    """Letters, near enough to tell prose from figures: ASCII letters and all from U+00C0 but general punctuation."""
    lower = codes | 0x20
    return ((lower >= 0x61) & (lower <= 0x7A)) | ((codes >= 0xC0) & ((codes < 0x2000) | (codes > 0x2BFF)))
