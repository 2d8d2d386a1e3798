"""Policies are live, replace what was said before, and a revoke beats a grant; retention erases what is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.histories import new_workspace, publish_texts
from tychora_format.cache import Cache
from tychora_format.workspace import Workspace
from tychora_functions.inspection import sources
from tychora_functions.maintain.expire import expire
from tychora_functions.maintain.policy import grants, policies, set_policy
from tychora_schemas.errors import InvalidRequest, NotFound
from tychora_schemas.maintenance import PolicyEntry


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = new_workspace(Cache(tmp_path / "cache"))
    publish_texts(made, {"a.txt": "The amber lamp.", "b.txt": "The basalt floor."})
    publish_texts(made, {"m.txt": "The marble step."}, collection="minutes")
    return made


def subjects(workspace: Workspace) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.subject.items() if value} for each in policies(workspace)]


def source_of(workspace: Workspace, path: str) -> str:
    return next(each.id for each in sources(workspace) if each.path == path)


def test_a_policy_stands_in_place_of_the_one_before_on_the_same_matter(workspace: Workspace) -> None:
    set_policy(workspace, "classification", "internal", collection="default")
    report = set_policy(workspace, "classification", "secret", collection="default", reason="new advice")
    assert [each.path for each in report.sources] == ["a.txt", "b.txt"]
    assert not set_policy(workspace, "classification", "secret", collection="default").made
    set_policy(workspace, "classification", "public", collection="minutes")
    set_policy(workspace, "access", "grant", source="a.txt", principal="user:ada")
    set_policy(workspace, "access", "revoke", source="a.txt", principal="group:guests")
    source = source_of(workspace, "a.txt")
    assert subjects(workspace) == [
        {"rule": "classification", "collection": "default", "classification": "secret", "reason": "new advice"},
        {"rule": "classification", "collection": "minutes", "classification": "public"},
        {"rule": "access", "source": source, "principal": "user:ada", "effect": "grant"},
        {"rule": "access", "source": source, "principal": "group:guests", "effect": "revoke"},
    ]


def test_a_lifted_policy_is_listed_no_more(workspace: Workspace) -> None:
    assert not set_policy(workspace, "retention", None, collection="default").made
    set_policy(workspace, "retention", 30, collection="default")
    assert set_policy(workspace, "retention", None, collection="default").made
    assert policies(workspace) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"rule": "colour", "value": "red", "collection": "default"},
        {"rule": "retention", "value": 0, "collection": "default"},
        {"rule": "retention", "value": True, "collection": "default"},
        {"rule": "retention", "value": 3},
        {"rule": "retention", "value": 3, "collection": "default", "source": "a.txt"},
        {"rule": "retention", "value": 3, "collection": "default", "principal": "*"},
        {"rule": "classification", "value": " ", "collection": "default"},
        {"rule": "access", "value": "grant", "collection": "default"},
        {"rule": "access", "value": "allow", "collection": "default", "principal": "*"},
        {"rule": "access", "value": "grant", "collection": "default", "principal": "ada"},
    ],
)
def test_what_is_no_policy_is_refused(workspace: Workspace, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        set_policy(workspace, wrong.pop("rule"), wrong.pop("value"), **wrong)
    assert workspace.statements.all() == []


def test_a_policy_about_an_unknown_source_is_refused(workspace: Workspace) -> None:
    with pytest.raises(NotFound):
        set_policy(workspace, "retention", 3, source="nothing.txt")


PRINCIPALS = ("*", "user:ada", "user:bob", "group:staff")
ACCESS = st.builds(
    lambda about, principal, effect: PolicyEntry(
        statement_id="", time="", subject={"rule": "access", **about, "principal": principal, "effect": effect}
    ),
    st.sampled_from([{"collection": "default"}, {"collection": "minutes"}, {"source": "source_1"}]),
    st.sampled_from(PRINCIPALS),
    st.sampled_from(["grant", "revoke"]),
)


@given(st.lists(ACCESS, max_size=6), st.sets(st.sampled_from(PRINCIPALS[1:])))
def test_a_revoke_beats_every_grant(rules: list[PolicyEntry], principals: set[str]) -> None:
    allowed = grants(rules, principals, "default", "source_1")
    assert allowed == grants(rules[::-1], principals, "default", "source_1")
    for about in ({"collection": "default"}, {"source": "source_1"}):
        revoke = {"rule": "access", **about, "principal": "*", "effect": "revoke"}
        assert not grants(
            [*rules, PolicyEntry(statement_id="", time="", subject=revoke)], principals, "default", "source_1"
        )
    elsewhere = {"rule": "access", "collection": "other", "principal": "*", "effect": "revoke"}
    more = PolicyEntry(statement_id="", time="", subject=elsewhere)
    assert grants([*rules, more], principals, "default", "source_1") == allowed


def test_who_may_read() -> None:
    """Without a grant everybody may; with one, only who has one."""

    def entry(effect: str, principal: str, **about: str) -> PolicyEntry:
        subject = {"rule": "access", **about, "principal": principal, "effect": effect}
        return PolicyEntry(statement_id="", time="", subject=subject)

    assert grants([], {"user:bob"}, "default", "source_1")
    staff = entry("grant", "group:staff", collection="default")
    assert grants([staff], {"user:ada", "group:staff"}, "default", "source_1")
    assert not grants([staff], {"user:bob"}, "default", "source_1")
    assert grants([staff, entry("grant", "user:bob", source="source_1")], {"user:bob"}, "default", "source_1")
    ada = entry("revoke", "user:ada", source="source_1")
    assert not grants([staff, ada], {"user:ada", "group:staff"}, "default", "source_1")
    assert grants([ada], {"user:bob"}, "default", "source_1")


def in_days(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def test_what_is_kept_long_enough_is_erased(workspace: Workspace) -> None:
    set_policy(workspace, "retention", 30, collection="default")
    set_policy(workspace, "retention", 90, source="b.txt")
    assert expire(workspace).due == []
    foreseen = expire(workspace, dry_run=True, now=lambda: in_days(31))
    assert [each.path for each in foreseen.due] == ["a.txt"]
    assert len(sources(workspace)) == 3
    report = expire(workspace, now=lambda: in_days(31))
    assert [each.path for each in report.due] == ["a.txt"]
    assert [each.id for each in workspace.statements.in_force().erasures] == report.erasures
    assert [each.path for each in sources(workspace)] == ["b.txt", "m.txt"]
    assert expire(workspace, now=lambda: in_days(31)).due == []
    assert [each.path for each in expire(workspace, now=lambda: in_days(91)).due] == ["b.txt"]


def test_a_new_revision_begins_anew_and_a_move_does_not(workspace: Workspace) -> None:
    set_policy(workspace, "retention", 30, collection="default")
    first = {state.snapshot: state.time for state in workspace.lineage()}
    publish_texts(workspace, {"a.txt": "The amber lamp is out.", "b.txt": None, "moved.txt": "The basalt floor."})
    changed = datetime.fromisoformat(workspace.lineage()[0].time)
    assert changed > datetime.fromisoformat(min(first.values()))
    between = (changed + timedelta(days=30)).isoformat()
    assert [each.path for each in expire(workspace, now=lambda: between).due] == ["moved.txt"]
