"""What journeys of a workspace report, for people: sync, pack, unpack, tag, check-proof."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tychora_client.render.ansi import Style
from tychora_client.render.places import place
from tychora_client.render.reports import notes
from tychora_client.render.safe import safe_line
from tychora_client.render.sizes import count, duration, size
from tychora_schemas.maintenance import TagReport
from tychora_schemas.proof import ProofCheck
from tychora_schemas.receipts import NamedPath
from tychora_schemas.transport import MergeConflict, PackReport, SyncReport, UnpackReport

__all__ = ["checked", "packed", "synced", "tagged", "unpacked"]

OUTCOMES = {
    "created": "made {destination}",
    "fast_forward": "{destination} now has all of {source}",
    "merged": "merged {source} into {destination}",
    "up_to_date": "{destination} is up to date",
    "ahead": "{destination} has all of {source}, and more",
}
PLANS = {
    "created": "would make {destination}",
    "fast_forward": "would bring {destination} up to {source}",
    "merged": "would merge {source} into {destination}",
}


def synced(report: SyncReport, style: Style) -> str:
    """What needs attention, then what happened in a line."""
    said = {**OUTCOMES, **(PLANS if report.dry_run else {})}[report.outcome]
    spoken = said.format(source=safe_line(report.source), destination=safe_line(report.destination))
    counts = [
        count(number, name)
        for number, name in (
            (report.files, "file"),
            (report.snapshots, "snapshot"),
            (report.statements, "statement"),
            (len(report.tags), "tag"),
        )
        if number
    ]
    took = "" if report.dry_run else f" in {duration(report.seconds)}"
    moved = f": {', '.join(counts)} ({size(report.bytes)}{took})" if counts else ""
    snapshot = f"; snapshot {report.snapshot_id[:16]}" if report.snapshot_id else ""
    lines = [
        *_conflicts(report.conflicts, style),
        *notes("erased here, not taken back", "yellow", report.refused, style),
        *notes("to know", "yellow", report.notes, style),
        f"{style('green', '●')} {spoken}{moved}{snapshot}",
    ]
    return "\n".join(lines) + "\n"


def _conflicts(conflicts: Sequence[MergeConflict], style: Style) -> Iterable[str]:
    named = [NamedPath(path=each.path, note=each.note) for each in conflicts]
    return notes("changed on both sides", "yellow", named, style)


def packed(report: PackReport, style: Style) -> str:
    """Where the file is, what it holds, and the hash that says whether two are the same."""
    held = f"{count(report.snapshots, 'snapshot')}, {count(report.files, 'file')}, {size(report.bytes)}"
    without = "" if report.originals else ", without originals"
    lines = [
        *notes("to know", "yellow", report.notes, style),
        f"{style('green', '●')} {safe_line(report.path)}: {held}{without} in {duration(report.seconds)}",
        f"  {style('dim', 'sha256')} {report.sha256}",
    ]
    return "\n".join(lines) + "\n"


def unpacked(report: UnpackReport, style: Style) -> str:
    """Where the directory is and what it holds."""
    held = f"{count(report.files, 'file')}, {size(report.bytes)} in {duration(report.seconds)}"
    return f"{style('green', '●')} {safe_line(report.path)}: {held}; snapshot {report.snapshot_id[:16] or 'none'}\n"


def tagged(report: TagReport, style: Style) -> str:
    """What the name stands for now and stood for before."""
    now = f"is {report.snapshot_id[:16]}" if report.snapshot_id else "is forgotten"
    before = f" (was {report.before[:16]})" if report.before and report.before != report.snapshot_id else ""
    return f"{style('bold', safe_line(report.name))} {now}{before}\n"


def checked(check: ProofCheck, style: Style) -> str:
    """The verdict; of a proof that holds, what it proves."""
    if not check.holds:
        return f"{style('red', '● refused')}: {safe_line(check.reason)}\n"
    places = list(dict.fromkeys(safe_line(place(locator)) for locator in check.locators))
    spoken = ", ".join(places) if len(places) < 3 else f"{places[0]} to {places[-1]}"
    lines = [
        f"{style('green', '● holds')}: {safe_line(check.reason)}",
        f"  {style('dim', 'quote')}    {safe_line(check.quote or '')}",
        f"  {style('dim', 'source')}   {safe_line(check.source_path or '')}, {spoken}",
        f"  {style('dim', 'original')} {check.content_sha256}",
        f"  {style('dim', 'snapshot')} {check.snapshot_id}",
    ]
    return "\n".join(lines) + "\n"
