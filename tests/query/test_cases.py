"""Cases of our own in which comparable tools lost or corrupted evidence: syntax in questions, identifiers, CJK."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tychora_format.workspace import Workspace
from tychora_functions.query import query
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import QueryResult

DATA = Path(__file__).resolve().parents[1] / "data" / "query"
SYNTAX = [(each["query"], each["expect"]) for each in json.loads((DATA / "notes-queries.json").read_text("utf-8"))]
NAMES = [(each["query"], each["only_section"]) for each in json.loads((DATA / "ids-queries.json").read_text("utf-8"))]
CJK = [(each["query"], each["hit"]) for each in json.loads((DATA / "cjk-queries.json").read_text("utf-8"))]

Ask = Callable[..., QueryResult]


@pytest.fixture(scope="module")
def ask(build: Callable[..., Workspace]) -> Ask:
    known: dict[tuple[str, ...], Workspace] = {}

    def asked(names: tuple[str, ...], question: str, **options: object) -> QueryResult:
        if names not in known:
            known[names] = build({name: (DATA / name).read_bytes() for name in names})
        return query(known[names], QueryRequest.model_validate({"question": question, **options}))

    return asked


@pytest.mark.parametrize(("question", "expect"), SYNTAX, ids=[question[:20] for question, _ in SYNTAX])
def test_no_text_is_read_as_query_grammar(ask: Ask, question: str, expect: str) -> None:
    result = ask(("notes.md",), question)
    heading = re.fullmatch(r"top hit under heading (.+)", expect)
    if heading:
        assert result.segments[0].heading_path[-1] == heading[1]


@pytest.mark.parametrize("question", ["", "(((", "\0", " \n\t", "?!"])
def test_a_question_without_a_word_finds_nothing_and_says_so(ask: Ask, question: str) -> None:
    result = ask(("notes.md",), question)
    assert result.segments == ()
    assert result.coverage.verdict == "none"


@pytest.mark.parametrize("question", ["a" * 100_000, "a b " * 25_000, "(" * 100_000, "\0" * 100_000, "京都" * 50_000])
def test_the_longest_question_is_answered(ask: Ask, question: str) -> None:
    result = ask(("notes.md", "ja.md"), question)
    assert all(len(gap) < 500 for gap in result.coverage_gaps)


@pytest.mark.parametrize(("question", "section"), NAMES, ids=[question for question, _ in NAMES])
def test_an_identifier_matches_itself_only(ask: Ask, question: str, section: str | None) -> None:
    result = ask(("ids.md",), question)
    exact = [segment.heading_path[-1] for segment in result.segments if "exact" in segment.channels]
    if section is None:
        assert exact == []
        assert any("no exact match" in gap for gap in result.coverage_gaps)
        assert result.coverage.verdict != "sufficient"
    else:
        assert result.segments[0].heading_path[-1] == section
        assert exact == [section]
        assert result.coverage.verdict == "sufficient"


@pytest.mark.parametrize(("question", "hit"), CJK, ids=[question for question, _ in CJK])
def test_chinese_and_japanese_words_are_found_without_vectors(ask: Ask, question: str, hit: str) -> None:
    result = ask(("zh.md", "ja.md"), question, channels=("exact", "lexical"))
    first = result.segments[0]
    path, section = re.match(r"([\w.]+)/(\w)", hit).groups()  # type: ignore[union-attr]
    assert (first.source.path, first.heading_path[-1]) == (path, section)
    marked = [first.text[span.start : span.end] for span in first.matched]
    assert all(part in question.replace(" ", "") for part in marked)
    assert "".join(marked) in question.replace(" ", "") or question.split()[0] in marked


def test_a_word_of_its_own_ranks_above_the_same_characters_inside_a_longer_one(ask: Ask) -> None:
    result = ask(("zh.md", "ja.md"), "京都", channels=("lexical",))
    assert [segment.heading_path[-1] for segment in result.segments] == ["二", "一"]


def test_byte_ranges_fall_on_character_borders(ask: Ask) -> None:
    for question, _ in CJK:
        for citation in ask(("zh.md", "ja.md"), question).citations:
            assert citation.locator.bytes is not None
            start, end = citation.locator.bytes
            assert (DATA / citation.source_path).read_bytes()[start:end].decode() == citation.quote
