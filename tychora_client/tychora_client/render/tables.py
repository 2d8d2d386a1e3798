"""What `inspect` shows, as aligned columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from tychora_client.render.ansi import Style, marked_text, paint, shorten, width, wrap
from tychora_client.render.places import place
from tychora_client.render.safe import safe_line
from tychora_client.render.sizes import count, size
from tychora_schemas.receipts import (
    ConfigurationEntry,
    HistoryEntry,
    JobEntry,
    SnapshotEvidence,
    SourceEntry,
    SourceEvidence,
    UnitEvidence,
    WorkspaceOverview,
)

__all__ = ["configuration", "evidence", "history", "jobs", "overview", "sources", "table"]

STATE_COLOURS = {"indexed": "green", "held": "yellow", "quarantined": "red"}
ID_DIGITS = 16


def table(head: Sequence[str], rows: Iterable[Sequence[str]], style: Style, *, right: Sequence[int] = ()) -> str:
    """Columns as wide as their widest cell; those numbered in `right` are aligned to the right."""
    cells = [[safe_line(cell) for cell in row] for row in [head, *rows]]
    widths = [max(width(row[column]) for row in cells) for column in range(len(head))]
    lines = []
    for number, row in enumerate(cells):
        parts = []
        for column, cell in enumerate(row):
            blanks = " " * (widths[column] - width(cell))
            padded = blanks + cell if column in right else cell if column == len(row) - 1 else cell + blanks
            parts.append(style("bold", padded) if number == 0 else _coloured(cell, padded, style))
        lines.append("  ".join(parts).rstrip())
    return "\n".join(lines)


def _coloured(cell: str, padded: str, style: Style) -> str:
    return style(STATE_COLOURS[cell], padded) if cell in STATE_COLOURS else padded


def _pairs(pairs: Iterable[tuple[str, str]], style: Style) -> str:
    kept = [(name, value) for name, value in pairs if value]
    widest = max(len(name) for name, _ in kept)
    return "\n".join(f"{style('dim', name.ljust(widest))}  {safe_line(value)}" for name, value in kept)


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in counts.items())


def overview(shown: WorkspaceOverview, style: Style) -> str:
    """A workspace at a glance."""
    pairs = [
        ("workspace", shown.url.removeprefix("file://")),
        ("id", shown.workspace_id),
        ("profile", shown.profile),
        ("sources", _counts(shown.sources) or "none yet: tychora add WORKSPACE PATH"),
        ("collections", _counts(shown.collections)),
        ("kinds", _counts(shown.kinds)),
        ("chunks", f"{shown.chunks:,} in {count(shown.batches, 'batch', 'batches')}"),
        ("families", ", ".join(f"{name} ({count(number, 'vector')})" for name, number in shown.families.items())),
        ("size", size(sum(shown.bytes.values()))),
        ("of that", ", ".join(f"{name} {size(number)}" for name, number in shown.bytes.items())),
        ("commits", f"{shown.commits:,}"),
        ("newest", f"snapshot {shown.snapshot_id}" if shown.snapshot_id else ""),
        *(("advice", each.note) for each in shown.notes),
    ]
    return _pairs(pairs, style) + "\n"


def sources(entries: Sequence[SourceEntry], style: Style) -> str:
    """Sources with their state; the reason where one is not indexed."""
    if not entries:
        return "no sources\n"
    rows = [
        (each.state, each.collection, size(each.size), f"{each.path}  — {each.reason}" if each.reason else each.path)
        for each in entries
    ]
    return table(("state", "collection", "size", "path"), rows, style, right=(2,)) + "\n"


def history(entries: Sequence[HistoryEntry], style: Style) -> str:
    """Commits, newest first, with the reference that asks each of them."""
    if not entries:
        return "no commits\n"
    rows = [
        (
            f"main~{back}" if back else "main",
            each.snapshot_id[:ID_DIGITS],
            each.time[:19],
            f"{each.sources:,}",
            f"{each.chunks:,}",
            ", ".join(each.tags),
        )
        for back, each in enumerate(entries)
    ]
    return table(("reference", "snapshot", "time (UTC)", "sources", "chunks", "tags"), rows, style, right=(3, 4)) + "\n"


def configuration(entries: Sequence[ConfigurationEntry], style: Style) -> str:
    """Settings, values, origins."""
    rows = [(each.key, json.dumps(each.value, ensure_ascii=False), each.origin) for each in entries]
    return table(("setting", "value", "from"), rows, style) + "\n"


def jobs(entries: Sequence[JobEntry], style: Style) -> str:
    """Prepared work, by folder."""
    if not entries:
        return "nothing is waiting: all that was prepared here is committed\n"
    rows = [(each.name, f"{each.files:,}", size(each.bytes)) for each in entries]
    return table(("prepared", "files", "size"), rows, style, right=(1, 2)) + "\n"


def evidence(found: Any, style: Style) -> str:
    """A unit, a source or a snapshot."""
    if isinstance(found, UnitEvidence):
        return _unit(found, style)
    if isinstance(found, SourceEvidence):
        return _source(found, style)
    return _snapshot(found, style)


def _unit(unit: UnitEvidence, style: Style) -> str:
    pairs = [
        ("unit", unit.id),
        ("kind", unit.kind),
        ("source", unit.source.path),
        ("also at", ", ".join(unit.also_at)),
        ("title", unit.source.title),
        ("place", place(unit.locator)),
        ("under", " › ".join(unit.heading_path)),
        ("original", unit.content_sha256),
    ]
    lines = wrap(marked_text(unit.text, ()), style.columns)
    return _pairs(pairs, style) + "\n\n" + "\n".join(paint(line, style) for line in lines) + "\n"


def _source(found: SourceEvidence, style: Style) -> str:
    pairs = [
        ("source", found.id),
        ("path", found.source.path),
        ("was at", ", ".join(path for path in found.source.paths if path != found.source.path)),
        ("collection", found.source.collection),
        ("state", found.source.state),
        ("reason", found.source.reason or ""),
        ("title", found.title or ""),
        ("size", f"{size(found.source.size)}, {count(found.chunks, 'chunk')}"),
        ("original", found.source.content_sha256 or ""),
        *(("warning", warning) for warning in found.warnings),
    ]
    rows = [
        (each.time[:19], each.state, (each.content_sha256 or "")[:ID_DIGITS], shorten(each.path, style.columns // 2))
        for each in found.revisions
    ]
    return _pairs(pairs, style) + "\n\n" + table(("since (UTC)", "state", "content", "path"), rows, style) + "\n"


def _snapshot(found: SnapshotEvidence, style: Style) -> str:
    pairs = [
        ("snapshot", found.id),
        ("time", found.time),
        ("parents", ", ".join(found.parents)),
        ("content root", found.content_root),
        ("holds", f"{count(found.sources, 'source')}, {count(found.chunks, 'chunk')}"),
        ("batches", str(len(found.batches))),
    ]
    return _pairs(pairs, style) + "\n"
