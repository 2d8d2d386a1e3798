"""Candidates: rows that a channel found, and what all channels say of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ["POOL", "Candidate", "Found", "Place", "pool"]

Place = tuple[int, int]
"""A chunk in a snapshot: ordinal of its batch, number of its row."""

POOL = 200
"""How many rows each channel puts forward."""


class Found(NamedTuple):
    """A row that a channel found, with its score there; `forms` are the identifier forms that it holds."""

    place: Place
    score: float
    forms: tuple[str, ...] = ()


@dataclass(slots=True)
class Candidate:
    """A row with its rank (1 the best) and score in each channel that found it, and the fused score."""

    place: Place
    ranks: dict[str, int] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    score: float = 0.0


def pool(found: Mapping[str, Sequence[Found]]) -> list[Candidate]:
    """One candidate per row that any channel found, by place. Each channel's rows come best first."""
    candidates: dict[Place, Candidate] = {}
    for channel, rows in found.items():
        for rank, row in enumerate(rows, start=1):
            candidate = candidates.get(row.place)
            if candidate is None:
                candidate = candidates[row.place] = Candidate(row.place)
            candidate.ranks[channel] = rank
            candidate.scores[channel] = row.score
            candidate.forms = candidate.forms or row.forms
    return [candidates[place] for place in sorted(candidates)]
