"""What every result keeps, whatever was asked: quotes are the source text, budgets hold, each place is one citation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tychora_format.workspace import Workspace
from tychora_functions.evidence import evidence
from tychora_functions.query import query
from tychora_functions.tokens import count_tokens
from tychora_schemas.receipts import UnitEvidence
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import QueryResult

Build = Callable[..., Workspace]

LONG = "".join(
    f"Clause {n} obliges the harbour master to keep book number {n} open on day {n % 31}. " for n in range(400)
)
FILES: dict[str, bytes] = {
    "long.txt": LONG.encode(),
    "paragraphs.txt": "\n\n".join(f"Paragraph {n} is about ferry number {n}." for n in range(300)).encode(),
    "crlf.txt": ("\ufeff" + "\r\n\r\n".join(f"Größe {n}: die Fähre № {n} fährt." for n in range(120))).encode(),
    "wide.txt": ("\ufeff" + "\n".join(f"Zeile {n} über Fähren" for n in range(50))).encode("utf-16-le"),
    "latin.txt": "Die Fähre fährt täglich über die Förde.\n\nÜber die Größe der Fähre wird gestritten.\n".encode(
        "cp1252"
    ),
    "notes.md": b"# Ferry\n\nIt leaves at *seven*.\n\n- one ferry\n- two ferries\n\n## Tariff\n\n"
    b"| who | pence |\n| - | - |\n| child | 5 |\n",
    "tariff.csv": b"who,pence\nchild,5\nadult,10\n" + b"".join(b"ferry %dx,%d pence\n" % (n, n) for n in range(300)),
    "ferry.py": b'class Ferry:\n    """A ferry."""\n\n    def leave(self, hour: int) -> None:\n'
    b'        """Leave the harbour."""\n        self.hour = hour\n\n\n'
    b"def tariff(ferry: Ferry) -> int:\n    return ferry.hour * 2\n",
    "ferry.json": b'{"ferry": {"leaves": "at seven \\u00fc", "tariff": [5, 10]}}',
    "ferry.html": b"<html><body><h1>Ferry</h1><p>The ferry &amp; the <b>tariff</b>.</p><p>More.</p></body></html>",
}
WORDS = [
    "ferry",
    "tariff",
    "Fähre",
    "clause 17",
    "book number",
    "paragraph 250",
    "leave",
    "pence",
    "Größe",
    "seven",
    "Zeile 7",
]


@pytest.fixture(scope="module")
def workspace(build: Build) -> Workspace:
    return build(FILES, {"docs/" + name: data + b"\n" for name, data in FILES.items() if name != "wide.txt"})


def check(result: QueryResult, request: QueryRequest) -> None:
    citations = {citation.id: citation for citation in result.citations}
    assert set(citations) == {name for segment in result.segments for name in segment.citations}
    assert len({segment.id for segment in result.segments}) == len(result.segments) <= request.k
    assert result.budget_contract.used_tokens == sum(count_tokens([each.text for each in result.segments]))
    assert result.budget_contract.used_tokens <= request.budget_tokens
    for segment in result.segments:
        assert segment.text.strip()
        assert count_tokens([segment.text])[0] <= request.segment_tokens
        at = 0
        for name in segment.citations:
            citation = citations[name]
            assert citation.source_path == segment.source.path
            between, quoted, _ = segment.text[at:].partition(citation.quote)
            assert quoted and not between.strip()
            at += len(between) + len(quoted)
            checked(
                citation.source_path,
                citation.quote,
                citation.locator.bytes,
                citation.locator.encoding,
                citation.locator.lines,
            )
        assert not segment.text[at:].strip()
        end = 0
        for span in segment.matched:
            assert end <= span.start < span.end <= len(segment.text)
            end = span.end


def checked(
    path: str, quote: str, place: tuple[int, int] | None, encoding: str | None, lines: tuple[int, int] | None
) -> None:
    """The bytes at the place are the quote, and the lines are those of the bytes."""
    if place is None:
        return
    data = FILES[Path(path).name] + b"\n" * path.startswith("docs/")
    name = encoding or "utf-8"
    assert data[place[0] : place[1]].decode(name) == quote
    if lines and name != "utf-16-le":
        before, within = data[: place[0]], data[place[0] : place[1]].rstrip(b"\r\n")
        assert lines == (before.count(b"\n") + 1, before.count(b"\n") + 1 + within.count(b"\n"))


REQUESTS = st.builds(
    QueryRequest,
    question=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join),
    k=st.integers(1, 20),
    budget_tokens=st.one_of(st.integers(1, 300), st.integers(1, 6_000)),
    segment_tokens=st.one_of(st.integers(1, 60), st.integers(1, 1_500)),
    context=st.booleans(),
    fusion=st.sampled_from(["convex", "rrf"]),
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(request_=REQUESTS)
def test_every_result_keeps_its_promises(workspace: Workspace, request_: QueryRequest) -> None:
    check(query(workspace, request_), request_)


def test_every_unit_that_is_cited_can_be_looked_up_and_holds_the_quote(workspace: Workspace) -> None:
    for word in WORDS[:4]:
        for citation in query(workspace, QueryRequest(question=word, k=3)).citations:
            found = [evidence(workspace, unit) for unit in citation.unit_ids]
            assert found
            assert all(isinstance(unit, UnitEvidence) and unit.text in citation.quote for unit in found)


def test_the_same_bytes_at_two_paths_are_one_hit_that_names_both(build: Build) -> None:
    text = "The ferry leaves at seven.\n"
    result = query(build({"b/copy.txt": text, "a/ferry.txt": text}), QueryRequest(question="ferry"))
    assert [(segment.source.path, segment.also_at) for segment in result.segments] == [("a/ferry.txt", ("b/copy.txt",))]


def test_the_same_bytes_in_two_collections_are_two_hits(build: Build) -> None:
    text = "The ferry leaves at seven.\n"
    workspace = build({"ferry.txt": text}, collection="one")
    build({"ferry.txt": text}, collection="two", into=workspace)
    result = query(workspace, QueryRequest(question="ferry"))
    assert [(segment.source.collection, segment.also_at) for segment in result.segments] == [("one", ()), ("two", ())]


def test_a_small_hit_is_widened_within_its_section_and_only_where_asked(build: Build) -> None:
    sections = "\n\n".join(
        f"## Part {n}\n\n" + "\n\n".join(f"Sentence {n} {m} of the text." for m in range(3)) for n in range(4)
    )
    workspace = build({"parts.md": "# Title\n\n" + sections})
    for context in (True, False):
        segment = query(workspace, QueryRequest(question="Sentence 2 1", k=1, context=context)).segments[0]
        assert "Sentence 2 1" in segment.text
        assert "Part 3" not in segment.text


def test_a_table_row_far_from_its_header_brings_it_along(workspace: Workspace) -> None:
    segment = query(workspace, QueryRequest(question="ferry 299x", k=1, filters={"kind": ("csv",)})).segments[0]
    assert "ferry 299x,299 pence" in segment.text
    assert "who,pence" in segment.context


def test_what_was_cut_for_the_budget_is_said(workspace: Workspace) -> None:
    result = query(workspace, QueryRequest(question="ferry", k=20, budget_tokens=300))
    contract = result.budget_contract
    assert contract.segments_cut and contract.segments_shortened
    assert contract.used_tokens <= contract.tokens == 300


def test_a_trace_says_what_each_stage_saw_and_changes_nothing_else(workspace: Workspace) -> None:
    plain = query(workspace, QueryRequest(question="ferry tariff"))
    traced = query(workspace, QueryRequest(question="ferry tariff", trace=True))
    assert plain.trace is None
    assert traced.trace is not None
    assert [stage["stage"] for stage in traced.trace["stages"]] == [
        "eligibility", "exact", "lexical", "text", "ranking", "context", "citations", "coverage",
    ]  # fmt: skip
    assert traced.segments == plain.segments
