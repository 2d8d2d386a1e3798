"""The document-name prior: a question that names a document is asked about that document.

Measured on FinanceBench, where questions name a company and a year: pages nDCG@10 .200 → .279.
"""

from __future__ import annotations

from collections.abc import Sequence

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
        key = (candidate.place[0], eligible.ordinal(candidate.place))
        if key not in shares:
            files, words = _names(eligible, key)
            held = asked.keys() & words
            share = sum(asked[term] for term in sorted(held)) / total if held else 0.0
            shares[key] = 1.0 if any(name in text for name in files) else share
        if shares[key]:
            named[candidate.place] = shares[key]
    return named


def _names(eligible: Eligible, key: tuple[int, int]) -> tuple[list[str], frozenset[str]]:
    """The file names of a content, and the index terms of its title and file names; computed once per snapshot."""
    if key not in eligible.names:
        contents = eligible.catalogue[key[0]]
        files = [path.rpartition("/")[2] for path in eligible.paths_of(contents.ids[key[1]])]
        title = contents.titles[key[1]] or ""
        words = frozenset(terms(" ".join([title, *(name.rpartition(".")[0] or name for name in files)])))
        eligible.names[key] = [name.casefold() for name in files if len(name) >= SHORTEST_NAME], words
    return eligible.names[key]
