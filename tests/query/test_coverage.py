"""The verdict never says more than the evidence does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tychora_format.workspace import Workspace
from tychora_functions.query import query
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import QueryResult

TEXT = """# Harbour

## Fees

The mooring fee is 5,200 crowns for each year. It is due in March.

## Ferry

The ferry leaves at seven from the north quay, section 12(3)(b) of the Harbour Act says so.

## Hash functions

The function blake2b needs no license. The function sha256 takes bytes.

## Forms

Form 8864 is filed in April.
"""


@pytest.fixture(scope="module")
def ask(build: Callable[..., Workspace]) -> Callable[[str], QueryResult]:
    workspace = build({"harbour.md": TEXT, "fish.md": "# Fish\n\nEighty-four days without a fish.\n"})
    return lambda question: query(workspace, QueryRequest(question=question))


@pytest.mark.parametrize(
    "question",
    [
        "When does the ferry leave from the north quay?",
        "How much is the mooring fee?",
        "What does § 12(3)(b) say?",
        "Form 8864",
    ],
)
def test_evidence_for_all_that_was_named_is_sufficient(ask: Callable[[str], QueryResult], question: str) -> None:
    result = ask(question)
    assert (result.coverage.verdict, result.coverage_gaps) == ("sufficient", ())


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ("What does § 12(3)(c) say?", "12(3)(c)"),
        ("What is CVE-2021-44228?", "CVE-2021-44228"),
        ("Which license does the function blake4 need?", "blake4"),
        ("Which fee does Form 8865 have?", "8865"),
        ("When does the zeppelin leave from the north quay?", "zeppelin"),
        ('Who said "the ferry leaves at eight"?', "the ferry leaves at eight"),
    ],
)
def test_what_the_corpus_does_not_hold_is_named_and_never_sufficient(
    ask: Callable[[str], QueryResult], question: str, lacking: str
) -> None:
    result = ask(question)
    assert result.coverage.verdict != "sufficient"
    assert any(lacking in gap for gap in result.coverage_gaps)


def test_a_number_that_the_evidence_lacks_is_named_and_never_sufficient(build: Callable[..., Workspace]) -> None:
    workspace = build({"fee.md": "# Fee\n\nThe mooring fee is 52 crowns.\n", "fish.md": "# Fish\n\n84 fish.\n"})
    for number, verdict in (("52", "sufficient"), ("84", "partial")):
        result = query(workspace, QueryRequest(question=f"Is the mooring fee {number} crowns?", k=1))
        assert result.segments[0].source.path == "fee.md"
        assert result.coverage.verdict == verdict
        assert any(number in gap for gap in result.coverage_gaps) == (verdict == "partial")


def test_words_scattered_over_several_segments_are_not_sufficient_together(ask: Callable[[str], QueryResult]) -> None:
    coverage = ask("Does the mooring ferry license take bytes in April?").coverage
    assert all(coverage.terms.values())
    assert coverage.verdict == "partial"


def test_terms_say_what_the_evidence_holds(ask: Callable[[str], QueryResult]) -> None:
    coverage = ask("zeppelin ferry").coverage
    assert coverage.terms == {"zeppelin": False, "ferry": True}
    assert coverage.verdict == "partial"


def test_nothing_met_is_none(ask: Callable[[str], QueryResult]) -> None:
    assert ask("zeppelin xylophone").coverage.verdict == "none"
