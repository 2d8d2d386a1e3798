"""What two snapshots differ in, for people."""

from __future__ import annotations

from collections.abc import Iterable

from tychora_client.render.ansi import Style
from tychora_client.render.places import place
from tychora_client.render.safe import safe_line
from tychora_client.render.sizes import count
from tychora_schemas.difference import AnswerDrift, DifferenceReport, SourceDifference

__all__ = ["difference"]

SIGNS = {"added": ("+", "green"), "removed": ("-", "red")}
SHOWN = 100
"""Characters of a unit or a segment on its line."""


def difference(report: DifferenceReport, style: Style) -> str:
    """Each source with its units, then each question with what left and what came."""
    lines = [
        *(line for source in report.sources for line in _source(source, style)),
        *(line for answer in report.answers for line in _answer(answer, style)),
    ]
    between = f"{report.before[:16] or 'nothing'} → {report.after[:16] or 'nothing'}"
    what = f"{count(len(report.sources), 'source')} changed" if report.sources else "the same content"
    return "\n".join([*lines, f"{style('bold', between)}: {what}, {report.unchanged:,} unchanged"]) + "\n"


def _source(source: SourceDifference, style: Style) -> Iterable[str]:
    was = f" (was {safe_line(source.was)})" if source.was else ""
    counts = f"{source.units_kept:,} units kept, {source.units_added:,} new, {source.units_removed:,} gone"
    yield f"{style('bold', source.change)} {safe_line(source.path)}{was}: {counts}"
    for unit in source.units:
        sign, colour = SIGNS[unit.change]
        yield style(colour, f"  {sign} {safe_line(place(unit.locator))}: {_shortened(unit.text)}")
    if (left := source.units_added + source.units_removed - len(source.units)) > 0:
        yield style("dim", f"    and {left:,} more")


def _answer(answer: AnswerDrift, style: Style) -> Iterable[str]:
    verdicts = answer.verdict_before
    if answer.verdict_after != verdicts:
        verdicts += f" → {answer.verdict_after}"
    state = "the same evidence" if answer.same else f"{answer.kept:,} segments kept"
    yield f"{style('bold', '?')} {safe_line(answer.question)}: {state} ({verdicts})"
    for segment in answer.segments:
        sign, colour = SIGNS["added" if not segment.rank_before else "removed"]
        rank = f"{segment.rank_before or '–'} → {segment.rank_after or '–'}"
        moved = segment.rank_before and segment.rank_after
        text = f"  {'~' if moved else sign} {rank}  {safe_line(segment.path)}: {_shortened(segment.text)}"
        yield text if moved else style(colour, text)


def _shortened(text: str) -> str:
    line = safe_line(" ".join(text.split()))
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
