"""Gate G5, within one process: whenever a withdrawal or an erasure lands in a question, nothing hidden is delivered."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.histories import new_workspace, publish_texts
from tychora_format.cache import Cache
from tychora_format.store import LocalStore
from tychora_format.workspace import Workspace
from tychora_functions.delivery import ATTEMPTS, delivered
from tychora_functions.evidence import evidence, verify_citation
from tychora_functions.inspection import sources
from tychora_functions.maintain.erase import erase
from tychora_functions.maintain.withdraw import withdraw
from tychora_functions.query import query, replay
from tychora_functions.query.trace import Trace
from tychora_schemas.errors import Busy, NotFound
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import QueryResult

ROUNDS = 50
SOURCES = ROUNDS + 10
STAGES = ("eligibility", "lexical", "ranking", "context", "citations", "coverage")
REQUEST = QueryRequest(question="the pump of the engine room", k=SOURCES, channels=("lexical",), budget_tokens=50_000)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = new_workspace(Cache(tmp_path / "cache"), LocalStore(tmp_path / "bundle"))
    publish_texts(made, {f"note{n}.txt": f"The pump of engine room {n} is well." for n in range(SOURCES)})
    return made


class Landing:
    """Lets something happen once, in the middle of a question: as a stage begins or ends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.stage = ""
        self.before = True
        self.action: Callable[[], Any] | None = None
        original = Trace.stage

        @contextmanager
        def stage(trace: Trace, name: str) -> Iterator[dict[str, Any]]:
            with original(trace, name) as note:
                if self.before:
                    self._land(name)
                yield note
                if not self.before:
                    self._land(name)

        monkeypatch.setattr(Trace, "stage", stage)

    def _land(self, name: str) -> None:
        action, self.action = (self.action, None) if name == self.stage else (None, self.action)
        if action is not None:
            action()

    def at(self, stage: str, before: bool, action: Callable[[], Any]) -> None:
        self.stage, self.before, self.action = stage, before, action


def named(result: QueryResult) -> set[str]:
    return {path for each in result.segments for path in (each.source.path, *each.also_at)} | {
        each.source_path for each in result.citations
    }


def test_what_lands_in_a_question_is_not_in_its_answer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Fifty times at a random stage, with questions to the newest snapshot and replays of the first answer."""
    chance = random.Random(seed)
    first = query(workspace, REQUEST)
    assert len(named(first)) == SOURCES
    landing = Landing(monkeypatch)
    left = sorted(named(first))
    chance.shuffle(left)
    for _ in range(ROUNDS):
        path = left.pop()
        target = next(each.id for each in sources(workspace) if each.path == path)
        hide = chance.choice([withdraw, withdraw, erase])
        landing.at(
            chance.choice(STAGES), chance.random() < 0.5, lambda hide=hide, target=target: hide(workspace, target)
        )
        ask = chance.choice([lambda: query(workspace, REQUEST), lambda: replay(workspace, first.run_id)])
        result = ask()
        assert landing.action is None, "it landed"
        assert named(result) == set(left)


@pytest.mark.parametrize("hide", [withdraw, erase])
def test_what_lands_while_evidence_is_read_is_not_shown(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, hide: Callable[[Workspace, str], Any]
) -> None:
    """The statement comes after the snapshot was opened, and after the original was read."""
    result = query(workspace, REQUEST)
    unit, cited = result.citations[0], result.citations[1]
    later = [(workspace, "resolve", unit), (workspace.objects, "get", cited)]
    for holder, name, citation in later:
        original = getattr(holder, name)
        waiting = [citation.source_path]

        def meanwhile(*arguments: Any, original: Any = original, waiting: list[str] = waiting) -> Any:
            answer = original(*arguments)
            while waiting:
                hide(workspace, waiting.pop())
            return answer

        monkeypatch.setattr(holder, name, meanwhile)
    with pytest.raises(NotFound):
        evidence(workspace, unit.unit_ids[0])
    check = verify_citation(workspace, cited)
    assert (check.holds, check.found) == (False, None)


def test_where_statements_keep_coming_the_question_is_refused(workspace: Workspace) -> None:
    targets = iter([each.id for each in sources(workspace)])
    with pytest.raises(Busy):
        delivered(workspace, lambda: withdraw(workspace, next(targets)))
    assert len(workspace.statements.all()) == ATTEMPTS
