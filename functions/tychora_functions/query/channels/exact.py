"""The exact channel: rows that hold an identifier which the question names.

Identifiers of a recognised form (a CVE number, a section sign, a version) count everywhere. Other names (`parseUrl`,
`snake_case`) are ordinary words to most documents, so they count in code, or where they are the whole question:
measured on SciFact, firing for them everywhere costs .022 nDCG@10 (gene names).
"""

from __future__ import annotations

from tychora_format.identifiers import Identifier
from tychora_functions.query.candidates import POOL, Found
from tychora_functions.query.eligibility import Eligible
from tychora_functions.query.question import Question

__all__ = ["rarity", "search"]

UNRECOGNISED = 0.5
"""What a name of no recognised form counts beside one of a recognised form."""


def search(eligible: Eligible, question: Question) -> list[Found]:
    """The rows that hold named identifiers, best first. A score of 1 means all of them, all rare and recognised."""
    worth = {}
    everywhere = set()
    for identifier in question.identifiers:
        only = question.is_only(identifier)
        share = (1.0 if identifier.recognised else UNRECOGNISED) / len(question.identifiers)
        worth[identifier.form] = share * (1.0 if only else rarity(eligible, identifier))
        if identifier.recognised or only:
            everywhere.add(identifier.form)
    if not worth:
        return []
    found = []
    for hit in eligible.view.identifier_search(list(worth), POOL):
        place = eligible.place(hit)
        code = bool(eligible.code[place[0]][place[1]])
        forms = tuple(form for form in hit.forms if code or form in everywhere)
        if forms:
            found.append(Found(place, sum(worth[form] for form in forms), forms))
    return sorted(found, key=lambda row: (-row.score, row.place))


def rarity(eligible: Eligible, identifier: Identifier) -> float:
    """What a row that holds an identifier says, 0…1: all where it is the only one, less the more rows hold it.

    The name of a package that stands in half of its files tells where to look, but not which row is meant.
    """
    rows = eligible.view.document_frequency(identifier.form, "identifier")
    return 1 / rows if rows else 0.0
