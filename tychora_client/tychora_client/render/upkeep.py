"""What the upkeep of a workspace reports, for people."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence

from tychora_client.render.ansi import Style
from tychora_client.render.reports import NAMED, notes
from tychora_client.render.safe import safe_line
from tychora_client.render.sizes import count, duration, size
from tychora_client.render.statements import about, rule_of
from tychora_client.render.tables import table
from tychora_schemas.maintenance import (
    CollectReport,
    CompactReport,
    ErasureReport,
    ExpiryReport,
    PolicyEntry,
    RollbackReport,
    StatementReport,
    UpgradeReport,
)

__all__ = ["collected", "compacted", "erased", "expired", "policies", "rolled_back", "stated", "upgraded"]

SAID = {
    ("withdrawal", True): "withdrawn",
    ("withdrawal", False): "was withdrawn before",
    ("restoration", True): "restored",
    ("restoration", False): "was not withdrawn",
    ("policy", True): "policy set",
    ("policy", False): "policy was so before",
}
"""Kind of a statement, and whether it was made just now, in words."""


def compacted(report: CompactReport, style: Style) -> str:
    """How many batches and rows there were and are."""
    if report.batches_before == report.batches_after and not report.bytes_written:
        return f"{style('green', '●')} nothing to do: {count(report.batches_after, 'batch', 'batches')}\n"
    batches = f"{_are(report.batches_before, 'batch', 'batches')} {report.batches_after:,}"
    rows = f"{_are(report.rows_before, 'row', 'rows')} {report.rows_after:,}"
    wrote = f"{size(report.bytes_written)} written in {duration(report.seconds)}"
    lines = [
        *notes("to know", "yellow", report.notes, style),
        f"{style('green', '●')} {batches}, {rows} ({wrote}; snapshot {report.snapshot_id[:16]})",
    ]
    return "\n".join(lines) + "\n"


def _are(number: int, noun: str, plural: str) -> str:
    return f"{count(number, noun, plural)} {'is' if number == 1 else 'are'}"


def collected(report: CollectReport, style: Style) -> str:
    """What was removed, by folder of the bundle, and what stays for now."""
    verb = "would be removed" if report.dry_run else "removed"
    folders = Counter(each.path.partition("/")[0] for each in report.removed)
    of_what = (
        f": {', '.join(f'{number:,} of {safe_line(folder)}' for folder, number in folders.items())}" if folders else ""
    )
    lines = list(notes("to know", "yellow", report.notes, style))
    counts = f"{count(len(report.removed), 'file')} {verb} ({size(report.removed_bytes)}{of_what})"
    more = [
        f"{count(number, *names)} {what}"
        for number, names, what in (
            (len(report.snapshots_removed), ("old snapshot",), verb),
            (report.batches_rewritten, ("batch", "batches"), "written anew"),
            (report.young, ("file",), "too young to be removed"),
        )
        if number
    ]
    return "\n".join([*lines, f"{style('green', '●')} {'; '.join([counts, *more])}"]) + "\n"


def stated(report: StatementReport, style: Style) -> str:
    """What was said, and of which sources."""
    said = SAID[report.kind, report.made]
    named = safe_line(report.target) if report.kind == "policy" else _paths(report)
    lines = [*notes("to know", "yellow", report.notes, style), f"{style('green', '●')} {said}: {named}"]
    if report.kind == "policy":
        lines[-1] += f" ({count(len(report.sources), 'source')})"
    if report.statement_id:
        lines.append(f"  {style('dim', report.statement_id)}")
    return "\n".join(lines) + "\n"


def _paths(report: StatementReport | ErasureReport) -> str:
    """The first sources of a report; its target where none is live."""
    paths = [safe_line(each.path) for each in report.sources[:NAMED]]
    more = len(report.sources) - len(paths)
    return ", ".join(paths) + (f" and {more:,} more" if more else "") or safe_line(report.target)


def erased(report: ErasureReport, style: Style, workspace: str = "WORKSPACE") -> str:
    """What is gone, and what is left to do until its bytes are, as it is to be typed for `workspace`."""
    lines = [
        *notes("to know", "yellow", report.notes, style),
        f"{style('green', '●')} erased: {_paths(report)}",
        f"  {style('dim', report.statement_id)}",
    ]
    if not report.collected:
        name = safe_line(shlex.quote(workspace))
        lines.append(f"  {style('dim', 'next:')} tychora manage {name} collect removes its bytes from here")
    return "\n".join(lines) + "\n"


def policies(entries: Sequence[PolicyEntry], style: Style) -> str:
    """The policies in force, one a line."""
    if not entries:
        return "no policy is set\n"
    rows = [(each.time[:19], rule_of(each.subject), about(each.subject), each.statement_id[:26]) for each in entries]
    return table(("since (UTC)", "rule", "about", "statement"), rows, style) + "\n"


def expired(report: ExpiryReport, style: Style) -> str:
    """What is due."""
    if not report.due:
        return f"{style('green', '●')} nothing is due\n"
    what = "due" if report.dry_run else "erased"
    lines = [f"  {safe_line(each.path)}" for each in report.due]
    return "\n".join([f"{style('green', '●')} {count(len(report.due), 'source')} {what}", *lines]) + "\n"


def rolled_back(report: RollbackReport, style: Style) -> str:
    """Which state is back."""
    if report.snapshot_id == report.before:
        return f"{style('green', '●')} nothing to do: the newest snapshot holds just that\n"
    held = f"{count(report.sources, 'source')} of {report.restored[:16]} are live again"
    return f"{style('green', '●')} {held}; snapshot {report.snapshot_id[:16]} (before: {report.before[:16]})\n"


def upgraded(report: UpgradeReport, style: Style) -> str:
    """Which format it is now, and what that brings."""
    if not report.brings:
        return f"{style('green', '●')} format {report.format} is the newest\n"
    return f"{style('green', '●')} format {report.format_before} is {report.format}: {'; '.join(report.brings)}\n"
