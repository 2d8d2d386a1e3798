"""What a workspace holds: counts, sources, history, settings, work in progress. Reads only."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from tychora_format.manifest import Manifest
from tychora_format.snapshot import Snapshot
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.maintain.advice import advice
from tychora_schemas.receipts import (
    ConfigurationEntry,
    HistoryEntry,
    JobEntry,
    SourceEntry,
    StatementEntry,
    WorkspaceOverview,
)
from tychora_schemas.settings import resolve_settings

__all__ = ["configuration", "history", "jobs", "live_count", "overview", "source_entry", "sources", "statements"]

SECRET = re.compile(r"(?:^|_)(?:secret|password|passphrase|credential|token|(?:api|access|secret|private)_key)$")
"""Names of settings whose value is never shown; `…_tokens` are sizes."""
USER_INFORMATION = re.compile(r"(?<=://)[^/@\s]+@")
REDACTED = "[redacted]"


def overview(workspace: Workspace) -> WorkspaceOverview:
    """The workspace at a glance: its identity, the newest snapshot, and the size of everything that is stored."""
    snapshot = workspace.head()
    live = [each.row for each in snapshot.live_sources()]
    states = Counter(row.state for row in live)
    collections = Counter(row.collection for row in live)
    families: Counter[str] = Counter()
    for batch in snapshot.batches:
        families.update(batch.entry.families)
    sizes: Counter[str] = Counter()
    for entry in workspace.store.list(""):
        sizes[entry.path.partition("/")[0]] += entry.size
    return WorkspaceOverview(
        url=USER_INFORMATION.sub("", workspace.store.url),
        workspace_id=workspace.marker.workspace_id,
        format=workspace.marker.format,
        profile=workspace.marker.profile,
        snapshot_id=snapshot.id,
        commits=len(workspace.lineage()),
        sources=dict(sorted(states.items())),
        collections=dict(sorted(collections.items())),
        kinds=_kinds(snapshot),
        chunks=snapshot.everything.size,
        batches=len(snapshot.batches),
        families=dict(sorted(families.items())),
        bytes=dict(sorted(sizes.items())),
        notes=advice(snapshot),
    )


def _kinds(snapshot: Snapshot) -> dict[str, int]:
    """Live sources by the kind of their content; held and quarantined ones have none."""
    known: dict[Any, Any] = {}
    for batch in snapshot.batches:
        ids, kinds = (batch.extractions.column(name).to_pylist() for name in ("extraction_id", "kind"))
        known.update(zip(ids, kinds, strict=True))
    read = snapshot.sources.column("extraction_id").to_pylist()
    return dict(sorted(Counter(known[each] for each in read if each in known).items()))


def sources(
    workspace: Workspace, collection: str | None = None, state: str | None = None, at: str = "main"
) -> list[SourceEntry]:
    """The live sources of a snapshot by collection and path, all of them or those of one collection or state."""
    rows = [
        each.row
        for each in workspace.resolve(at).live_sources()
        if collection in (None, each.row.collection) and state in (None, each.row.state)
    ]
    return [source_entry(row) for row in sorted(rows, key=lambda row: (row.collection, row.path, row.source_id))]


def source_entry(row: SourceRow) -> SourceEntry:
    """A row of the sources table as the contract shows it."""
    return SourceEntry(
        id=row.source_id,
        collection=row.collection,
        path=row.path,
        paths=row.paths,
        state=row.state,
        reason=row.reason,
        size=row.size,
        content_sha256=row.content_sha256,
        revision_id=row.revision_id,
    )


def history(workspace: Workspace) -> list[HistoryEntry]:
    """The states that this location can go back to, newest first. Reads manifests only, so it stays quick."""
    entries, tags = [], workspace.tags.all()
    for state in workspace.lineage():
        manifest = workspace.manifest(state.snapshot)
        entries.append(
            HistoryEntry(
                number=state.number,
                snapshot_id=state.snapshot,
                time=state.time,
                sources=live_count(manifest),
                chunks=sum(batch.rows for batch in manifest.batches),
                parents=list(manifest.parents),
                tags=sorted(name for name, snapshot in tags.items() if snapshot == state.snapshot),
            )
        )
    return entries


def statements(workspace: Workspace) -> list[StatementEntry]:
    """The withdrawals, erasures and policies in force, oldest first."""
    standing = workspace.statements.in_force()
    found = [*standing.withdrawals, *standing.erasures, *standing.policies]
    return [
        StatementEntry(id=each.id, kind=each.kind, time=each.time, subject=each.subject)
        for each in sorted(found, key=lambda each: (each.time, each.id))
        if each.kind != "replacement"
    ]


def live_count(manifest: Manifest) -> int:
    """How many sources are live in a manifest's snapshot."""
    stored = sum(batch.sources for batch in manifest.batches)
    return stored - sum(last - first for ranges in manifest.dead.values() for first, last in ranges)


def configuration(workspace: Workspace, flags: Mapping[str, Any] | None = None) -> list[ConfigurationEntry]:
    """Every setting with the value in force and the layer that gave it. Raises InvalidRequest as those layers do."""
    marker = workspace.marker
    resolved = resolve_settings(marker.profile, marker.settings, flags)
    return [
        ConfigurationEntry(key=key, value=shown(key, value), origin=resolved.origins[key])
        for key, value in resolved.settings.model_dump(mode="json").items()
    ]


def shown(key: str, value: Any) -> Any:
    """`value` as it may be printed: nothing of a secret, and no user or password inside a URL."""
    if SECRET.search(key):
        return REDACTED if value else value
    return USER_INFORMATION.sub(f"{REDACTED}@", value) if isinstance(value, str) else value


def jobs(workspace: Workspace) -> list[JobEntry]:
    """What runs have prepared and not yet committed, one entry per folder below `jobs/` and `staging/`."""
    return sorted(_prepared(workspace), key=lambda job: job.name)


def _prepared(workspace: Workspace) -> Iterator[JobEntry]:
    files: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for top in ("jobs", "staging"):
        for entry in workspace.store.list(f"{top}/"):
            name = "/".join(entry.path.split("/")[:2])
            files[name] += 1
            sizes[name] += entry.size
    for name, count in files.items():
        yield JobEntry(name=name, files=count, bytes=sizes[name])
