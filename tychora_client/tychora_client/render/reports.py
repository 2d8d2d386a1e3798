"""What `add` and `verify` report, for people: the counts in a line, then whatever needs their attention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tychora_client.render.ansi import Style
from tychora_client.render.safe import safe_line
from tychora_client.render.sizes import count, duration, size
from tychora_schemas.receipts import AddReport, InventoryReport, NamedPath, PathReport, VerifyReport

__all__ = ["added", "attention", "grouped", "inventory", "notes", "summary", "verified"]

NAMED = 10
"""Paths that are named of a group before the rest is only counted."""
LISTS = ("added", "changed", "moved", "removed", "unchanged", "held", "quarantined", "skipped")
COLOURS = {"added": "green", "changed": "green", "held": "yellow", "quarantined": "red"}


def added(report: AddReport, style: Style) -> str:
    """The whole report: what needs attention first, so that the summary stays in sight."""
    return "\n".join(part for part in (attention(report, style), summary(report, style)) if part) + "\n"


def summary(report: AddReport, style: Style) -> str:
    """Counts of every list that is not empty, and what it took."""
    counts = [
        style(COLOURS.get(name, "bold"), f"{len(paths):,} {name}") for name in LISTS if (paths := getattr(report, name))
    ]
    took = f"{count(report.chunks, 'chunk')}, {size(report.bytes_read)} in {duration(report.seconds)}"
    state = style("yellow", "interrupted; committed so far: ") if report.interrupted else ""
    snapshot = f"; snapshot {report.snapshot_id[:16]}" if report.snapshot_id else ""
    return f"{state}{', '.join(counts) or 'nothing found'} ({took}{snapshot})"


def attention(report: AddReport, style: Style) -> str:
    """Quarantined and held sources by reason with what to do, moves, conflicts, and warnings about what is here."""
    here = [*report.added, *report.changed, *report.moved, *report.unchanged]
    warnings = [PathReport(path=each.path, reason=warning) for each in here for warning in each.warnings]
    moves = [NamedPath(path=each.path, note=f"was {each.was}") for each in report.moved if each.was]
    blocks = [
        *grouped("quarantined", "red", report.quarantined, style),
        *grouped("held for review", "yellow", report.held, style),
        *grouped("read with a warning", "yellow", warnings, style),
        *notes("moved", "blue", moves, style),
        *notes("changed by another writer meanwhile", "yellow", report.conflicts, style),
        *(f"{style('yellow', 'advice')}: {safe_line(each.note)}" for each in report.notes),
    ]
    return "\n".join(blocks)


def inventory(report: InventoryReport, style: Style) -> str:
    """What a run would do."""
    collisions = [NamedPath(path=first, note="collides with " + ", ".join(rest)) for first, *rest in report.colliding]
    twins = [NamedPath(path=first, note="has the bytes of " + ", ".join(rest)) for first, *rest in report.duplicates]
    moves = [NamedPath(path=each.path, note=f"was {each.was}") for each in report.moved if each.was]
    blocks = [
        *grouped("cannot be read", "red", report.cannot, style),
        *grouped("would be skipped", "yellow", report.skipped, style),
        *notes("would be moved", "blue", moves, style),
        *notes("would be removed", "blue", [NamedPath(path=each.path, note="") for each in report.removed], style),
        *notes("equal bytes", "blue", twins, style),
        *notes("names that collide on some systems", "yellow", collisions, style),
        *notes("names that some systems refuse", "yellow", report.reserved, style),
        f"would capture {count(len(report.captured), 'file')} ({size(report.bytes)}); {report.unchanged:,} unchanged",
    ]
    return "\n".join(blocks) + "\n"


def verified(report: VerifyReport, style: Style) -> str:
    """What was repaired, every problem and note, then the verdict."""
    lines = [
        *notes("repaired", "green", report.repaired, style),
        *(f"{style('red', safe_line(each.path))}: {safe_line(each.note)}" for each in report.problems),
        *(f"{style('yellow', safe_line(each.path))}: {safe_line(each.note)}" for each in report.notes),
    ]
    checked = f"{count(report.files, 'file')}, {size(report.bytes)}, {count(report.units, 'unit')} checked"
    if report.sample < 1:
        checked += f", of {report.sample:.0%} the contents"
    verdict = style("green", "● intact") if report.ok else style("red", f"● {count(len(report.problems), 'problem')}")
    lines.append(f"{verdict}: {checked}; snapshot {report.snapshot_id[:16] or 'none'}")
    return "\n".join(lines) + "\n"


def grouped(title: str, colour: str, reports: Sequence[PathReport], style: Style) -> Iterable[str]:
    """One block per reason, the most frequent first: the paths under it, and what to do about it once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for each in reports:
        groups.setdefault((each.reason or "", each.next_step or ""), []).append(each.path)
    for (reason, step), paths in sorted(groups.items(), key=lambda group: -len(group[1])):
        yield style(colour, f"{len(paths):,} {title}") + (f": {safe_line(reason)}" if reason else "")
        yield from (f"  {safe_line(path)}" for path in paths[:NAMED])
        if len(paths) > NAMED:
            yield style("dim", f"  and {len(paths) - NAMED:,} more")
        if step:
            yield f"  {style('dim', 'next:')} {safe_line(step)}"


def notes(title: str, colour: str, named: Sequence[NamedPath], style: Style) -> Iterable[str]:
    """A counted title and, under it, each path with its note; nothing where there are none."""
    if named:
        yield style(colour, f"{len(named):,} {title}")
        yield from (f"  {safe_line(' '.join((each.path, each.note)).strip())}" for each in named[:NAMED])
        if len(named) > NAMED:
            yield style("dim", f"  and {len(named) - NAMED:,} more")
