"""Expires sources: what was kept as long as its retention policy says is erased."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pyarrow.compute as pc

from tychora_format.snapshot import LiveSource
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.maintain.erase import erase_all
from tychora_functions.maintain.policy import policies
from tychora_functions.maintain.targets import paths_of
from tychora_schemas.maintenance import ExpiryReport, PolicyEntry

__all__ = ["expire", "retention_days"]


def expire(workspace: Workspace, *, dry_run: bool = False, now: Callable[[], str] = utc_now) -> ExpiryReport:
    """Erase every live source whose retention is over; with `dry_run` only tell which those are.

    It is over when the days that the policy says have passed since the first commit in this workspace's history that
    had the live revision of the source. A new revision begins anew. What is withdrawn expires, too.
    """
    rules = [each for each in policies(workspace) if each.subject["rule"] == "retention"]
    limited = {
        each.row.source_id: (each, days)
        for each in (workspace.head().live_sources(hidden=True) if rules else ())
        if (days := retention_days(rules, each.row)) is not None and each.row.revision_id
    }
    since = _first_seen(workspace, {each.row.revision_id or "" for each, _ in limited.values()})
    moment = _moment(now())
    due: list[LiveSource] = []
    for each, days in limited.values():
        if since[each.row.revision_id or ""] + timedelta(days=days) < moment:
            due.append(each)
    report = ExpiryReport(dry_run=dry_run, due=paths_of(due))
    if due and not dry_run:
        statement_id, _ = erase_all(workspace, frozenset(each.row.source_id for each in due), "the retention is over")
        report.erasures.append(statement_id)
    return report


def retention_days(rules: Iterable[PolicyEntry], row: SourceRow) -> int | None:
    """For how many days a source is kept, by the rules about retention; None for ever.

    A rule about the source itself goes before one about its collection. Two copies of a bundle may have stated two on
    the same subject: then the shorter time holds.
    """
    for name, value in (("source", row.source_id), ("collection", row.collection)):
        days = [int(each.subject["days"]) for each in rules if each.subject.get(name) == value]
        if days:
            return min(days)
    return None


def _first_seen(workspace: Workspace, revisions: set[str]) -> dict[str, datetime]:
    """When each of the revisions, all of which are live now, first was so in the history of this workspace."""
    first: dict[str, datetime] = {}
    for state in reversed(workspace.lineage() if revisions else []):
        if len(first) == len(revisions):
            break
        live = pc.unique(workspace.snapshot(state.snapshot).recorded.column("revision_id")).to_pylist()
        for revision in revisions.intersection(live) - first.keys():
            first[revision] = _moment(state.time)
    return first


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
