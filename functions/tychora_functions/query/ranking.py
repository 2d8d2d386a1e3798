"""Ranking: from what the channels found to one ordered list of candidates."""

from __future__ import annotations

from collections.abc import Sequence

from tychora_format.identifiers import symbol_forms
from tychora_functions.query import fusion
from tychora_functions.query.candidates import Candidate, pool
from tychora_functions.query.drafts import attributes
from tychora_functions.query.eligibility import Eligible
from tychora_functions.query.hydrate import Hydrator
from tychora_functions.query.naming import named_documents
from tychora_functions.query.question import Question
from tychora_functions.query.search import Findings
from tychora_schemas.requests import QueryRequest

__all__ = ["rank"]

CHECKED = 24
"""How many of the best candidates are read for what the indexes don't know: quoted phrases, definitions."""

DEFINITION_WEIGHT = 0.3
"""What the definition of a named symbol adds to the fused score."""

PHRASE_WEIGHT = 0.5
"""What a quoted phrase that stands in the text adds to the fused score."""


def rank(
    findings: Findings, eligible: Eligible, question: Question, request: QueryRequest, hydrator: Hydrator
) -> list[Candidate]:
    """The candidates, best first. Those that share nothing with the question, not even its direction, are left out."""
    candidates = [each for each in pool(findings.rows) if _is_evidence(each, findings)]
    if request.fusion == "rrf":
        return fusion.reciprocal(candidates)
    names = named_documents(eligible, question, candidates)
    ranked = fusion.convex(candidates, findings.spaces, names)
    _prefer_definitions(ranked[:CHECKED], eligible, hydrator)
    if question.phrases:
        _prefer_phrases(ranked[:CHECKED], question.phrases, hydrator)
    return sorted(ranked, key=lambda candidate: (-candidate.score, candidate.place))


def _is_evidence(candidate: Candidate, findings: Findings) -> bool:
    if "exact" in candidate.ranks or "lexical" in candidate.ranks:
        return True
    return any(candidate.scores.get(channel, -1.0) >= floor for channel, floor in findings.floors.items())


def _prefer_definitions(candidates: Sequence[Candidate], eligible: Eligible, hydrator: Hydrator) -> None:
    """A row that defines what was named is more to the point than those that use it."""
    named = [each for each in candidates if each.forms and eligible.code[each.place[0]][each.place[1]]]
    hydrator.fetch(candidate.place for candidate in named)
    for candidate in named:
        chunk = hydrator.chunk(candidate.place)
        symbols = (attributes(chunk, number) for number, unit in enumerate(chunk.units) if unit.kind == "symbol")
        defined = {form for symbol in symbols for form in symbol_forms(symbol.get("name", ""))}
        if defined.intersection(candidate.forms):
            candidate.score = round(candidate.score + DEFINITION_WEIGHT, 6)


def _prefer_phrases(candidates: Sequence[Candidate], phrases: Sequence[str], hydrator: Hydrator) -> None:
    from tychora_functions.parse.normal import normalised

    wanted = [normalised(phrase).casefold() for phrase in phrases]
    hydrator.fetch(candidate.place for candidate in candidates)
    for candidate in candidates:
        text = normalised(hydrator.chunk(candidate.place).text).casefold()
        held = sum(phrase in text for phrase in wanted)
        candidate.score = round(candidate.score + PHRASE_WEIGHT * held / len(wanted), 6)
