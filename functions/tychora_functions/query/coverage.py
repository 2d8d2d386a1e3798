"""Coverage: which of the question's words and identifiers the evidence holds, and whether that is enough.

The verdict is about evidence, not about truth: `sufficient` says that the evidence is about everything that the
question names, `none` that nothing of it was met.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tychora_format.identifiers import Identifier, identifiers
from tychora_functions.query.matching import Matcher
from tychora_functions.query.question import Question
from tychora_schemas.result import Coverage, Verdict

__all__ = ["Evidence", "cover"]

BEST_SEGMENTS = 3
SUFFICIENT_SHARE = 0.55
"""The share of the question's content (by rarity) that one of the best segments must hold by itself: words scattered
over several say nothing together."""

SHOWN = 80
"""Characters of a name that a gap repeats."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one segment says: its text with title, headings and context, its path, the identifier forms of its rows."""

    text: str
    path: str
    forms: frozenset[str]


def cover(question: Question, matcher: Matcher, evidence: Sequence[Evidence]) -> tuple[Coverage, list[str]]:
    """The coverage, and in words what of the question the evidence lacks."""
    held = [matcher.held(f"{each.path}\n{each.text}") for each in evidence]
    everywhere = set().union(*held)
    best: set[str] = max(held[:BEST_SEGMENTS], key=matcher.share, default=set())
    known = {each.surface: _holds(each, matcher, evidence) for each in question.identifiers}
    decisive = [each for each in question.identifiers if each.recognised or question.is_only(each)]
    missing = [each.surface for each in decisive if not known[each.surface]]
    gaps = [f"no exact match for {_shown(surface)}" for surface in missing]
    gaps += [f"no source holds “{_shown(surface)}”" for surface in matcher.unknown if surface not in missing]
    gaps += [f"the evidence does not hold the number {_shown(each)}" for each in _uncounted(matcher, everywhere)]
    gaps += [f"the evidence does not hold the phrase “{_shown(phrase)}”" for phrase in _unquoted(question, evidence)]
    coverage = Coverage(
        verdict=_verdict(matcher.share(best), bool(everywhere) or any(known.values()), bool(gaps)),
        terms={term.surface: term.surface in everywhere for term in question.terms},
        identifiers=known,
    )
    return coverage, gaps


def _verdict(share: float, anything: bool, gaps: bool) -> Verdict:
    if not anything:
        return "none"
    return "sufficient" if share >= SUFFICIENT_SHARE and not gaps else "partial"


def _uncounted(matcher: Matcher, everywhere: set[str]) -> list[str]:
    """The numbers of the question that some source holds, but not the evidence: 12 layers are not 6. Single digits are
    left out, they mostly count what is asked for."""
    lacking = [each for each in matcher.weights if each not in everywhere and each not in matcher.unknown]
    return [each for each in lacking if len(each) > 1 and each.replace(",", "").replace(".", "").isdecimal()]


def _holds(identifier: Identifier, matcher: Matcher, evidence: Sequence[Evidence]) -> bool:
    form = identifier.form
    if identifier.kind == "file" and any(f"/{each.path.casefold()}".endswith(f"/{form}") for each in evidence):
        return True
    if any(form in each.forms for each in evidence):
        return True
    return matcher.is_indexed(form) and any(form in identifiers(each.text) for each in evidence)


def _unquoted(question: Question, evidence: Sequence[Evidence]) -> list[str]:
    if not question.phrases:
        return []
    from tychora_functions.parse.normal import normalised

    texts = [normalised(each.text).casefold() for each in evidence]
    return [phrase for phrase in question.phrases if all(normalised(phrase).casefold() not in text for text in texts)]


def _shown(name: str) -> str:
    return name if len(name) <= SHOWN else name[:SHOWN] + "…"
