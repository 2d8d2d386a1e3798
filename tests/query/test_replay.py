"""A run's token is all that a replay needs, and nothing else passes for one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tychora_format.workspace import Workspace
from tychora_functions.query import query, replay
from tychora_functions.query.replay import Run
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.requests import QueryRequest

Build = Callable[..., Workspace]

FILES = {"ferry.md": "# Ferry\n\nThe ferry leaves at seven.\n", "fish.md": "# Fish\n\nThere was no fish for days.\n"}

REQUESTS = st.builds(
    QueryRequest,
    question=st.text(st.characters(exclude_categories=("Cs",)), max_size=60),
    k=st.integers(1, 100),
    budget_tokens=st.integers(1, 10_000),
    filters=st.dictionaries(st.sampled_from(["kind", "path"]), st.tuples(st.sampled_from(["code", "a*"]))),
    fusion=st.sampled_from(["convex", "rrf"]),
)


@given(REQUESTS)
def test_a_token_gives_back_the_whole_run(request_: QueryRequest) -> None:
    run = Run("a" * 64, 3, "b" * 16, request_)
    assert Run.decode(run.encode()) == run


def test_a_replay_is_identical_even_after_the_workspace_has_moved_on(build: Build) -> None:
    workspace = build(FILES)
    first = query(workspace, QueryRequest(question="When does the ferry leave?", filters={"kind": ("document",)}))
    build({"new.md": "The ferry leaves at eight now.\n"}, into=workspace)
    assert query(workspace, QueryRequest(question="When does the ferry leave?")).segments != first.segments
    assert replay(workspace, first.run_id).model_dump_json() == first.model_dump_json()


def test_an_empty_workspace_answers_and_replays(build: Build) -> None:
    workspace = build()
    result = query(workspace, QueryRequest(question="anything"))
    assert (result.segments, result.coverage.verdict) == ((), "none")
    assert replay(workspace, result.run_id) == result


def test_a_token_of_another_workspace_is_refused(build: Build) -> None:
    foreign = query(build(FILES), QueryRequest(question="ferry")).run_id
    with pytest.raises(InvalidRequest, match="snapshot"):
        replay(build({"other.md": "Other text.\n"}), foreign)


@pytest.mark.parametrize("token", ["", "run_", "run_AAAA", "run_" + "A" * 400, "segment_00", "run_ü", "run_\n"])
def test_what_is_no_token_is_refused(build: Build, token: str) -> None:
    with pytest.raises(InvalidRequest, match="no run id"):
        replay(build(), token)


@given(st.data())
def test_an_altered_token_is_refused(data: st.DataObject) -> None:
    token = Run("a" * 64, 0, "b" * 16, QueryRequest(question="When does the ferry leave?")).encode()
    at = data.draw(st.integers(0, len(token) - 1))
    other = data.draw(st.characters(codec="ascii").filter(lambda character: character != token[at]))
    with pytest.raises(InvalidRequest):
        Run.decode(token[:at] + other + token[at + 1 :])


def test_a_run_of_another_version_is_answered_with_a_warning(build: Build) -> None:
    workspace = build(FILES)
    result = query(workspace, QueryRequest(question="ferry"))
    run = Run.decode(result.run_id)
    older = Run(run.snapshot_id, run.statements, "0" * 16, run.request)
    again = replay(workspace, older.encode())
    assert again.segments == result.segments
    assert any("another version" in warning for warning in again.warnings)
