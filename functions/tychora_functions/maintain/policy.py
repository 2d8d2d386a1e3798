"""Policies: who may read what, how sensitive it is, how long it is kept. They are live, whatever snapshot is asked."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

from tychora_format.versions import require_format
from tychora_format.workspace import Workspace
from tychora_functions.maintain.stating import state, take_back
from tychora_functions.maintain.targets import live_of, paths_of, resolve_target
from tychora_schemas.errors import InvalidRequest
from tychora_schemas.maintenance import PolicyEntry, StatementReport
from tychora_schemas.receipts import NamedPath

__all__ = ["grants", "policies", "set_policy"]

Rule = Literal["access", "classification", "retention"]

MEMBERS: dict[str, str] = {"access": "effect", "classification": "classification", "retention": "days"}
"""Rule → the member of its subject that has the value."""

EFFECTS = ("grant", "revoke")
PRINCIPALS = ("user:", "group:")
EVERYBODY = "*"


def set_policy(
    workspace: Workspace,
    rule: Rule,
    value: str | int | None,
    *,
    collection: str | None = None,
    source: str | None = None,
    principal: str | None = None,
    reason: str = "",
) -> StatementReport:
    """State a rule about a collection, or about one source (as `targets.resolve_target` finds it).

    `value` is `grant` or `revoke` for `access`, which also needs a `principal` (`user:NAME`, `group:NAME` or `*`); a
    word for `classification`; days of 1 or more for `retention`. None lifts the rule. It stands in place of what was
    said before on the same rule, subject and principal. Raises InvalidRequest for anything else.
    """
    require_format(workspace, 2, "policies")
    _check(rule, value, principal)
    if (collection is None) == (source is None):
        raise InvalidRequest("a policy is about a collection or about a source", next_step="name exactly one of them")
    matter: dict[str, Any] = {"rule": rule}
    if source is not None:
        found = resolve_target(workspace, source)
        if not found.id.startswith("source_"):
            raise InvalidRequest(f"{found.id} is no source", next_step="give its path, or source_…")
        matter["source"] = found.id
        live = live_of(workspace, found)
    else:
        matter["collection"] = collection
        live = workspace.head().live_sources(lambda row: row.collection == collection)
    if rule == "access":
        matter["principal"] = principal
    say = state if value is not None else take_back
    statement_id, made = say(workspace, "policy", matter, {MEMBERS[rule]: value}, reason)
    target = str(matter.get("source") or collection)
    notes = [] if live else [NamedPath(path=target, note="no live source is in it now")]
    return StatementReport(
        statement_id=statement_id, kind="policy", target=target, sources=paths_of(live), made=made, notes=notes
    )


def _check(rule: str, value: str | int | None, principal: str | None) -> None:
    if rule not in MEMBERS:
        raise InvalidRequest(f"{rule!r} is no rule", next_step=f"one of {', '.join(MEMBERS)}")
    if (principal is not None) != (rule == "access"):
        raise InvalidRequest("a principal belongs to a rule about access, and to no other")
    if principal not in (None, EVERYBODY) and not (principal or "").startswith(PRINCIPALS):
        raise InvalidRequest(f"{principal!r} is no principal", next_step="user:NAME, group:NAME or *")
    if value is None:
        return
    if rule == "access" and value not in EFFECTS:
        raise InvalidRequest(f"{value!r} is no effect", next_step="grant or revoke")
    if rule == "classification" and not (isinstance(value, str) and value.strip()):
        raise InvalidRequest(f"{value!r} is no classification", next_step="give a word, such as internal")
    if rule == "retention" and (type(value) is not int or value < 1):
        raise InvalidRequest(f"{value!r} is no number of days", next_step="give a whole number from 1 on")


def policies(workspace: Workspace) -> list[PolicyEntry]:
    """The policies in force, oldest first; of lifted rules nothing is listed."""
    return [
        PolicyEntry(statement_id=each.id, time=each.time, subject=_shown(each.subject))
        for each in workspace.statements.in_force().policies
        if each.subject.get(MEMBERS.get(str(each.subject.get("rule")), "")) is not None
    ]


def _shown(subject: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in subject.items() if name != "replaces"}


def grants(policies: Iterable[PolicyEntry], principals: Collection[str], collection: str, source_id: str) -> bool:
    """Whether somebody who is all of `principals` may read a source of a collection.

    Rules about the source and about its collection count alike, and `*` is everybody. A revoke beats every grant.
    Where any grant was given, to whomever, only who has one may read; without one, everybody who has no revoke.
    """
    concerned = [
        each.subject
        for each in policies
        if each.subject.get("rule") == "access"
        and (each.subject.get("collection") == collection or each.subject.get("source") == source_id)
    ]
    mine = {each["effect"] for each in concerned if each["principal"] == EVERYBODY or each["principal"] in principals}
    limited = any(each["effect"] == "grant" for each in concerned)
    return "revoke" not in mine and ("grant" in mine or not limited)
