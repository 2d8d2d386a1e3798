"""The document-name prior: a question that names a document is asked about that document.

Measured on FinanceBench, where questions name a company and a year: pages nDCG@10 .200 → .279.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from tychora_format.analysis import terms

from tychora_functions.query.candidates import Candidate, Place
from tychora_functions.query.eligibility import Eligible
from tychora_functions.query.question import Question

__all__ = ["named_documents"]

SHORTEST_NAME = 5
"""Characters of a file name that can be met in a question by more than chance."""


def named_documents(eligible: Eligible, question: Question, candidates: Sequence[Candidate]) -> dict[Place, float]:
    """How far the question names each candidate's document, 0…1; those that it does not name at all are left out.

    1 where the question holds the file's name; else the share of the question's content, weighted by how rare each
    word is, that stands in the document's title or file name.
    """
    asked = {term.terms[0]: eligible.view.idf(term.terms[0]) for term in question.terms}
    total = sum(asked.values())
    text = question.text.casefold()
    shares: dict[tuple[int, int], float] = {}
    named = {}
    for candidate in candidates:
        batch = candidate.place[0]
        key = (batch, eligible.ordinal(candidate.place))
        if key not in shares:
            shares[key] = _share(eligible, key, text, asked, total)
        if shares[key]:
            named[candidate.place] = shares[key]
    return named


def _share(eligible: Eligible, key: tuple[int, int], text: str, asked: dict[str, float], total: float) -> float:
    contents = eligible.catalogue[key[0]]
    paths = [PurePosixPath(path) for path in eligible.paths_of(contents.ids[key[1]])]
    if any(len(path.name) >= SHORTEST_NAME and path.name.casefold() in text for path in paths):
        return 1.0
    if not total:
        return 0.0
    known = set(terms(" ".join([contents.titles[key[1]] or "", *(path.stem for path in paths)])))
    return sum(weight for term, weight in asked.items() if term in known) / total
