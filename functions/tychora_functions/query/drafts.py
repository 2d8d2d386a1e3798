"""Drafts: segments in the making. Neighbouring candidates become one, and each grows to what can be read by itself."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tychora_format.tables import ChunkRow, ExtractionRow
from tychora_functions.query.candidates import Candidate, Place
from tychora_functions.query.hydrate import Hydrator
from tychora_functions.query.trace import Trace

__all__ = ["Draft", "assemble", "attributes", "is_apart", "widen"]

READABLE_TOKENS = 400
"""A draft of this size is read without more around it; a smaller one is widened, to at most WIDENED_TOKENS."""

WIDENED_TOKENS = 600

SPARE = 1
"""Candidates read at once beyond those wanted: some will join others."""

APART = ("furniture", "hidden", "revision")
"""What a chunk has that is not the running text in force: page headers, hidden text, struck or inserted text."""


@dataclass(slots=True)
class Draft:
    """Adjacent chunks of one extraction, under the same headings, of which at least one was found."""

    place: Place
    extraction: ExtractionRow
    chunks: list[ChunkRow]
    score: float
    ranks: dict[str, int]
    hits: set[int] = field(default_factory=set)
    """Row numbers of the chunks that were found; the others are context."""

    @property
    def tokens(self) -> int:
        """About how many tokens its text has."""
        return sum(chunk.tokens for chunk in self.chunks) + len(self.chunks) - 1

    def takes(self, place: Place, chunk: ChunkRow, limit: int) -> bool:
        """Whether `chunk` continues this draft without making it larger than `limit` tokens."""
        return (
            place[0] == self.place[0]
            and chunk.extraction == self.chunks[0].extraction
            and place[1] in (self.chunks[0].row - 1, self.chunks[-1].row + 1)
            and chunk.heading_path == self.chunks[0].heading_path
            and is_apart(chunk) == is_apart(self.chunks[0])
            and self.tokens + chunk.tokens + 1 <= limit
        )

    def add(self, chunk: ChunkRow) -> None:
        """Put a neighbouring chunk where it belongs."""
        self.chunks = sorted([*self.chunks, chunk], key=lambda each: each.row)

    def absorb(self, candidate: Candidate) -> None:
        """Count a found chunk as this draft's own: it keeps the best score and ranks."""
        self.hits.add(candidate.place[1])
        self.score = max(self.score, candidate.score)
        for channel, rank in candidate.ranks.items():
            self.ranks[channel] = min(rank, self.ranks.get(channel, rank))


def assemble(ranked: Sequence[Candidate], hydrator: Hydrator, count: int, limit: int, trace: Trace) -> list[Draft]:
    """The first `count` drafts, best first, none above `limit` tokens unless one chunk alone is.

    Chunks that are no running text, and chunks whose text is there already, come after all others.
    """
    drafts: list[Draft] = []
    waiting: list[Candidate] = []
    texts: set[str] = set()
    hydrator.fetch_around(candidate.place for candidate in ranked[: count + SPARE])
    for candidate in ranked:
        if len(drafts) >= count:
            break
        chunk = hydrator.chunk(candidate.place)
        if is_apart(chunk) or chunk.text in texts:
            waiting.append(candidate)
            continue
        texts.add(chunk.text)
        _place(candidate, chunk, drafts, hydrator, limit)
    for candidate in waiting:
        if len(drafts) >= count:
            trace.cut("not running text, or the same text again", place=candidate.place, score=candidate.score)
            continue
        _place(candidate, hydrator.chunk(candidate.place), drafts, hydrator, limit)
    return sorted(drafts, key=lambda draft: is_apart(draft.chunks[0]))


def _place(candidate: Candidate, chunk: ChunkRow, drafts: list[Draft], hydrator: Hydrator, limit: int) -> None:
    for draft in drafts:
        if draft.takes(candidate.place, chunk, limit):
            draft.add(chunk)
            draft.absorb(candidate)
            return
    draft = Draft(candidate.place, hydrator.extraction(candidate.place), [chunk], candidate.score, {})
    draft.absorb(candidate)
    drafts.append(draft)


def widen(drafts: Iterable[Draft], hydrator: Hydrator, limit: int) -> None:
    """Let small drafts grow by the chunks after and before them, as far as no other draft has those."""
    drafts = list(drafts)
    limit = min(limit, WIDENED_TOKENS)
    taken = {(draft.place[0], chunk.row) for draft in drafts for chunk in draft.chunks}
    for draft in drafts:
        steps = [1, -1]
        while steps and draft.tokens < READABLE_TOKENS:
            step = steps.pop(0)
            edge = draft.chunks[-1 if step > 0 else 0].row
            place = hydrator.neighbour((draft.place[0], edge), step)
            if place is None or place in taken or not draft.takes(place, chunk := hydrator.chunk(place), limit):
                continue
            draft.add(chunk)
            taken.add(place)
            steps.append(step)


def attributes(chunk: ChunkRow, position: int = 0) -> dict[str, Any]:
    """What is known of a chunk's unit beyond its text."""
    stored = chunk.units[position].attributes if position < len(chunk.units) else None
    known: dict[str, Any] = json.loads(stored) if stored else {}
    return known


def is_apart(chunk: ChunkRow) -> bool:
    """Whether a chunk is no running text. The chunker keeps such units among themselves, so the first one tells."""
    known = attributes(chunk)
    return any(name in known and known[name] != "inserted" for name in APART)
