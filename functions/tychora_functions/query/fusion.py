"""Fusion: one ranking out of the channels'.

*Convex*, the default: lexical score and cosine, each scaled to 0…1 over all candidates, are added with the weights that
the family was calibrated with; an identifier match adds more than both together, so that a rare one leads.
*Reciprocal rank* takes only ranks, `weight / (60 + rank)`, and is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tychora_functions.query.candidates import Candidate, Place
from tychora_functions.query.channels.text import Neighbours

__all__ = ["Space", "convex", "reciprocal"]

RECIPROCAL_WEIGHTS = {"exact": 2.0, "lexical": 1.0, "text": 1.0, "visual": 0.7, "graph": 0.35}
RECIPROCAL_OFFSET = 60
"""Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion", SIGIR 2009."""

EXACT_WEIGHT = 1.25
"""More than the best of everything else together: a rare identifier that was named leads."""

NAME_WEIGHT = 0.2
"""What it adds when the question names a candidate's document."""


@dataclass(frozen=True, slots=True)
class Space:
    """One family's answer: its weight in convex fusion, and the cosines of all rows."""

    weight: float
    neighbours: Neighbours


def convex(candidates: Sequence[Candidate], spaces: Sequence[Space], names: Mapping[Place, float]) -> list[Candidate]:
    """Best first; equal scores by place. `names` says how far (0…1) the question names a candidate's document."""
    text_weight = sum(space.weight for space in spaces) / len(spaces) if spaces else 0.0
    parts = [(1 - text_weight, _scaled([each.scores.get("lexical") for each in candidates]))]
    for space in spaces:
        cosines = space.neighbours.cosines([each.place for each in candidates])
        parts.append((space.weight / len(spaces), _scaled(cosines, lowest=None)))
    for number, candidate in enumerate(candidates):
        score = sum(weight * values[number] for weight, values in parts)
        score += EXACT_WEIGHT * candidate.scores.get("exact", 0.0)
        score += NAME_WEIGHT * names.get(candidate.place, 0.0)
        candidate.score = round(score, 6)
    return _ordered(candidates)


def reciprocal(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Best first; equal scores by place."""
    for candidate in candidates:
        score = sum(
            RECIPROCAL_WEIGHTS.get(channel.partition(":")[0], 1.0) / (RECIPROCAL_OFFSET + rank)
            for channel, rank in candidate.ranks.items()
        )
        candidate.score = round(score, 6)
    return _ordered(candidates)


def _ordered(candidates: Sequence[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.place))


def _scaled(scores: Sequence[float | None], lowest: float | None = 0.0) -> list[float]:
    """Scores on 0…1: the highest gives 1, the lowest (or a row without a score) 0. All equal ones give 1."""
    present = [score for score in scores if score is not None]
    if not present:
        return [0.0] * len(scores)
    low = min(present) if lowest is None or len(present) == len(scores) else lowest
    span = max(present) - low
    if span <= 0:
        return [0.0 if score is None else 1.0 for score in scores]
    return [0.0 if score is None else (score - low) / span for score in scores]
