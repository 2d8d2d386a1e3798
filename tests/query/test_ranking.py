"""What ranks first, and why: names, definitions, phrases, documents that the question names; failing channels."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from tychora_format.workspace import Workspace
from tychora_functions.embed import embed, families
from tychora_functions.embed.families import DEFAULT_FAMILY, family
from tychora_functions.query import query
from tychora_schemas.errors import InvalidRequest, ProviderUnavailable
from tychora_schemas.requests import QueryRequest

Build = Callable[..., Workspace]

FILES = {
    "src/fares.py": "def compute_fare(distance):\n    return distance * 2\n\n\ndef report(distance):\n"
    "    total = compute_fare(distance)\n    other = compute_fare(distance + 1)\n    return total, other\n",
    "docs/fares.md": "# Fares\n\nHow to compute a fare: multiply. The fare is computed by compute and fare tables.\n",
    "acme-2018-report.md": "# Acme annual report 2018\n\nRevenue rose by a tenth. The board thanks the staff.\n",
    "zeta-2018-report.md": "# Zeta annual report 2018\n\nRevenue rose by a fifth. The board thanks the staff.\n",
    "quotes.md": "# One\n\nthe board thanks all members\n\n# Two\n\nthanks to all members of the board, the board\n",
}


@pytest.fixture(scope="module")
def workspace(build: Build) -> Workspace:
    return build(FILES)


def first(workspace: Workspace, question: str, **options: object) -> str:
    request = QueryRequest.model_validate({"question": question, "context": False, **options})
    return query(workspace, request).segments[0].text


def test_a_definition_ranks_above_the_uses_of_a_name(workspace: Workspace) -> None:
    assert first(workspace, "where is compute_fare?").startswith("def compute_fare")


def test_a_named_document_ranks_above_its_like(workspace: Workspace) -> None:
    for name in ("Acme", "Zeta"):
        result = query(workspace, QueryRequest(question=f"By how much did the revenue of {name} rise in 2018?"))
        assert result.segments[0].source.path == f"{name.lower()}-2018-report.md"


def test_a_quoted_phrase_ranks_above_the_same_words_in_another_order(workspace: Workspace) -> None:
    assert "the board thanks all members" in first(workspace, '"board thanks all members"')


def test_reciprocal_rank_fusion_answers_as_well(workspace: Workspace) -> None:
    assert "compute_fare" in first(workspace, "compute_fare", fusion="rrf")


def test_a_section_is_found_by_its_number_in_the_rows_that_do_not_repeat_it(build: Build) -> None:
    """Longer sections are several rows, and only the first one holds the heading."""
    clauses = {7: "mooring", 8: "pilotage", 9: "salvage"}
    text = "\n\n".join(
        f"## § {number} Dues\n\n"
        + "\n\n".join(f"({n}) The {word} dues of year {n} are paid in March." for n in range(90))
        for number, word in clauses.items()
    )
    result = query(build({"dues.md": text}), QueryRequest(question="§ 8 dues of year 80", context=False, k=1))
    (segment,) = result.segments
    assert "dues of year 80 are" in segment.text and "pilotage" in segment.text
    assert "§ 8" not in segment.text and "exact" in segment.channels


def test_a_text_that_holds_all_words_asked_for_ranks_above_one_that_repeats_some(build: Build) -> None:
    files = {
        "all.txt": "The keeper counts every vessel, writes its fee down and rings the brass bell. "
        + "Then it rains. " * 30,
        "some.txt": "Fee, fee, fee, vessel, vessel, vessel.",
    }
    asked = QueryRequest(question="keeper vessel fee", channels=("lexical",), k=1)
    assert query(build(files), asked).segments[0].source.path == "all.txt"


def test_a_cell_of_a_row_of_numbers_is_found_and_a_number_with_commas_is_not_its_parts(build: Build) -> None:
    workspace = build({"cells.csv": "a,b,c\n7,299,411\n", "prose.md": "# Fee\n\nThe fee is 5,200 crowns.\n"})
    for question, path in (("411", "cells.csv"), ("5,200", "prose.md")):
        result = query(workspace, QueryRequest(question=question, channels=("lexical",)))
        assert [segment.source.path for segment in result.segments] == [path]


def failing(texts: Sequence[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    raise ConnectionError("no route to host")


class Broken:
    documents = queries = staticmethod(failing)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**families._registered, DEFAULT_FAMILY: dataclasses.replace(family(DEFAULT_FAMILY), load=Broken)}
    monkeypatch.setattr(families, "_registered", known)
    embed._encoder.cache_clear()


@pytest.mark.usefixtures("broken")
def test_a_failing_channel_is_a_warning_and_the_others_answer(workspace: Workspace) -> None:
    result = query(workspace, QueryRequest(question="revenue of Acme"))
    assert result.segments[0].source.path == "acme-2018-report.md"
    assert "text" not in result.segments[0].channels
    assert any("text" in warning and "no route to host" in warning for warning in result.warnings)


@pytest.mark.usefixtures("broken")
def test_a_strict_request_gets_the_error_of_the_failing_channel(workspace: Workspace) -> None:
    with pytest.raises(ProviderUnavailable, match="no route to host"):
        query(workspace, QueryRequest(question="revenue of Acme", strict=True))


def test_a_family_without_an_encoder_here_is_named(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(families, "_registered", {})
    result = query(workspace, QueryRequest(question="revenue of Acme"))
    assert result.segments
    assert any(DEFAULT_FAMILY in warning for warning in result.warnings)


def test_a_channel_that_is_not_built_is_named(workspace: Workspace) -> None:
    asked = QueryRequest(question="revenue", channels=("lexical", "graph"))
    assert query(workspace, asked).warnings == ("this version has no channel 'graph'",)
    with pytest.raises(InvalidRequest, match="exact, lexical, text"):
        query(workspace, asked.model_copy(update={"strict": True}))


def test_page_furniture_comes_after_running_text(build: Build) -> None:
    body = "\n\n".join(f"The harbour ledger lists vessel number {n} with its fee." for n in range(6))
    pages = "\f".join(f"Harbour ledger\n\n{body}\n\nHarbour ledger page {n} of 3" for n in (1, 2, 3))
    result = query(build({"ledger.txt": pages}), QueryRequest(question="ledger", k=20))
    assert "vessel" in result.segments[0].text
