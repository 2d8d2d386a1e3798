"""A withdrawal hides at once and everywhere, and is taken back; statements are a set, united in any order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from support.histories import new_workspace, publish_texts
from tychora_format.cache import Cache
from tychora_format.statements import Statement, in_force
from tychora_format.store import LocalStore
from tychora_format.workspace import Workspace
from tychora_functions.evidence import evidence, verify_citation
from tychora_functions.inspection import sources
from tychora_functions.maintain.targets import resolve_target
from tychora_functions.maintain.withdraw import restore, withdraw
from tychora_functions.query import query, replay
from tychora_schemas.errors import InvalidRequest, NotFound, UnsupportedContent
from tychora_schemas.requests import QueryRequest

TEXTS = {"a.txt": "The amber lamp burns.", "b.txt": "The basalt floor is cold.", "copy.txt": "The amber lamp burns."}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """Two states: three texts, two of them the same; then another revision of the second."""
    made = new_workspace(Cache(tmp_path / "cache"), LocalStore(tmp_path / "bundle"))
    publish_texts(made, TEXTS)
    publish_texts(made, {"b.txt": "The basalt floor is warm."})
    return made


def paths(workspace: Workspace, at: str = "main") -> list[str]:
    return [each.path for each in sources(workspace, at=at)]


def found(workspace: Workspace, question: str, at: str = "main") -> list[str]:
    request = QueryRequest(question=question, at=at, channels=("exact", "lexical"))
    return sorted({path for each in query(workspace, request).segments for path in (each.source.path, *each.also_at)})


def source_id(workspace: Workspace, path: str) -> str:
    return next(each.id for each in sources(workspace) if each.path == path)


def test_a_withdrawn_source_is_hidden_in_every_snapshot_and_comes_back(workspace: Workspace) -> None:
    cited = query(workspace, QueryRequest(question="basalt", channels=("lexical",)))
    wanted = source_id(workspace, "b.txt")
    report = withdraw(workspace, "b.txt", "wrong")
    assert (report.kind, report.target, report.made) == ("withdrawal", wanted, True)
    assert [each.path for each in report.sources] == ["b.txt"]
    assert paths(workspace) == paths(workspace, "main~1") == ["a.txt", "copy.txt"]
    assert found(workspace, "basalt") == found(workspace, "basalt", "main~1") == []
    assert replay(workspace, cited.run_id).segments == ()
    assert not verify_citation(workspace, cited.citations[0]).holds
    for wanted_id in (wanted, cited.citations[0].revision_id, cited.citations[0].unit_ids[0]):
        with pytest.raises(NotFound):
            evidence(workspace, wanted_id)

    assert restore(workspace, wanted).made
    assert paths(workspace) == sorted(TEXTS)
    assert found(workspace, "basalt") == found(workspace, "basalt", "main~1") == ["b.txt"]
    assert replay(workspace, cited.run_id).segments == cited.segments
    assert verify_citation(workspace, cited.citations[0]).holds


def test_saying_it_twice_makes_one_statement(workspace: Workspace) -> None:
    first = withdraw(workspace, "b.txt", "wrong")
    again = withdraw(workspace, "b.txt", "in other words")
    assert (again.statement_id, again.made) == (first.statement_id, False)
    assert restore(workspace, "b.txt").made
    assert not restore(workspace, "b.txt").made
    assert not restore(workspace, "a.txt").made
    assert withdraw(workspace, "b.txt").made
    assert "b.txt" not in paths(workspace)
    assert len(workspace.statements.all()) == 3


def test_withdrawing_a_revision_leaves_the_source_its_others(workspace: Workspace) -> None:
    old = next(each.revision_id for each in sources(workspace, at="main~1") if each.path == "b.txt")
    assert old is not None
    withdraw(workspace, old)
    assert "b.txt" in paths(workspace)
    assert "b.txt" not in paths(workspace, "main~1")


def test_withdrawing_an_original_hides_every_source_that_has_it(workspace: Workspace) -> None:
    content = next(each.content_sha256 for each in sources(workspace) if each.path == "a.txt")
    assert content is not None
    report = withdraw(workspace, content[:10])
    assert [each.path for each in report.sources] == ["a.txt", "copy.txt"]
    assert paths(workspace) == ["b.txt"]
    publish_texts(workspace, {"later.txt": TEXTS["a.txt"]})
    assert paths(workspace) == ["b.txt"], "one that is added later has it, too"
    restore(workspace, content)
    assert paths(workspace) == ["a.txt", "b.txt", "copy.txt", "later.txt"]


def test_a_copy_of_what_is_withdrawn_stays_visible(workspace: Workspace) -> None:
    withdraw(workspace, "a.txt")
    assert found(workspace, "amber") == ["copy.txt"]


def test_a_target_is_named_by_path_collection_or_digits(workspace: Workspace) -> None:
    wanted = source_id(workspace, "b.txt")
    for name in ("b.txt", "default:b.txt", wanted, wanted[:15], f" {wanted} "):
        assert resolve_target(workspace, name).id == wanted
    publish_texts(workspace, {"b.txt": "The same path elsewhere."}, collection="other")
    with pytest.raises(InvalidRequest, match="may be any of 2"):
        resolve_target(workspace, "b.txt")
    assert resolve_target(workspace, "default:b.txt").id == wanted
    for unknown in ("nothing.txt", "source_" + "0" * 64, "f" * 64, "source_12", ""):
        with pytest.raises(NotFound):
            resolve_target(workspace, unknown)


def test_the_past_path_of_a_source_finds_it(workspace: Workspace) -> None:
    wanted = source_id(workspace, "b.txt")
    publish_texts(workspace, {"b.txt": None})
    assert resolve_target(workspace, "b.txt").id == wanted


def test_a_bundle_of_format_1_is_not_told_of_withdrawals(workspace: Workspace) -> None:
    workspace.marker = workspace.marker.model_copy(update={"format": 1})
    with pytest.raises(UnsupportedContent, match="upgrade"):
        withdraw(workspace, "b.txt")


TARGETS = ["source_1", "source_2", "revision_1", "c1"]
START = datetime(2026, 1, 1, tzinfo=UTC)


@st.composite
def histories(draw: st.DrawFn) -> list[Statement]:
    """Statements in the order of their making; each may replace any before it, of whatever kind."""
    made: list[Statement] = []
    for number in range(draw(st.integers(1, 12))):
        kind = draw(st.sampled_from(["withdrawal", "erasure", "policy"]))
        replaces = draw(st.lists(st.sampled_from(made), max_size=3)) if made else []
        subject: dict[str, Any] = {"replaces": [each.id for each in replaces]}
        target = draw(st.sampled_from(TARGETS))
        if kind == "withdrawal":
            subject |= {"target": target, "withdrawn": draw(st.booleans())}
        elif kind == "erasure":
            subject |= {"sources": [target], "revisions": [], "contents": []}
        else:
            effect = draw(st.sampled_from(["grant", "revoke"]))
            subject |= {"rule": "access", "source": target, "principal": "*", "effect": effect}
        time = START + timedelta(seconds=draw(st.integers(0, number)))
        made.append(Statement.make(kind, subject, time.isoformat()))
    return made


@given(histories(), st.data())
@limits(max_examples=60)
def test_uniting_sets_of_statements_in_any_order_gives_the_same(made: list[Statement], data: st.DataObject) -> None:
    parts = [data.draw(st.lists(st.sampled_from(made), unique_by=lambda each: each.id)) for _ in range(3)]
    one, two, three = parts
    united = in_force([*one, *two, *three], 0)
    assert united == in_force([*three, *two, *one], 0) == in_force([*two, *[*three, *one], *two], 0)


@given(histories(), st.data())
@limits(max_examples=60)
def test_nothing_takes_an_erasure_back(made: list[Statement], data: st.DataObject) -> None:
    part = data.draw(st.lists(st.sampled_from(made), unique_by=lambda each: each.id))
    assert in_force(part, 0).erased <= in_force(made, 0).erased
