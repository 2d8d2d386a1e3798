"""A result for people at a terminal: numbered hits, the matched words lit, the verdict last."""

from __future__ import annotations

from tychora_client.render.ansi import Marked, Style, marked_text, paint, shorten, wrap
from tychora_client.render.markdown import cited_places, missing, verdict_line
from tychora_client.render.safe import safe_line
from tychora_client.render.sizes import count
from tychora_schemas.result import QueryResult, Segment

__all__ = ["text"]

LINES_SHOWN = 12
"""Lines of a passage that are shown: those with most matches, and some before them to get into it."""
LEAD = 3
INDENT = "   "
VERDICT_COLOURS = {"sufficient": "green", "partial": "yellow", "none": "red"}


def text(result: QueryResult, style: Style) -> str:
    """The hits with source, place, headings and passage; then the verdict, what is missing, and warnings."""
    blocks = [_hit(result, number, segment, style) for number, segment in enumerate(result.segments, start=1)]
    return "\n\n".join([*blocks, _closing(result, style)]) + "\n"


def _hit(result: QueryResult, number: int, segment: Segment, style: Style) -> str:
    source = segment.source
    room = style.columns - len(INDENT)
    title = shorten(source.title or source.path, room)
    places = "; ".join(safe_line(place) for place in cited_places(result, segment))
    lines = [f"{style('cyan', f'{number:>2}')} {style('bold', title)}"]
    path = safe_line(source.path)  # whole, whatever the width: people copy it
    lines.append(INDENT + style("blue", path) + (f" · {style('green', places)}" if places else ""))
    if segment.also_at:
        lines.append(INDENT + style("dim", shorten("also at " + ", ".join(segment.also_at), room)))
    if segment.heading_path:
        lines.append(INDENT + style("dim", shorten(" › ".join(segment.heading_path), room)))
    return "\n".join([*lines, "", *_passage(segment, style)])


def _passage(segment: Segment, style: Style) -> list[str]:
    room = max(style.columns - len(INDENT), 20)
    context = wrap(marked_text(segment.context, ()), room) if segment.context else []
    body = segment.text.rstrip()
    lines = wrap(marked_text(body, [(span.start, span.end) for span in segment.matched]), room)
    first = _best_window(lines)
    shown = lines[first : first + LINES_SHOWN]
    before, after = first, len(lines) - first - len(shown)
    return [
        *(INDENT + style("dim", paint(line, Style())) for line in context[:2]),
        *([INDENT + style("dim", f"… {count(before, 'line')} above")] if before else []),
        *((INDENT + paint(line, style)).rstrip() for line in shown),
        *([INDENT + style("dim", f"… {count(after, 'line')} below")] if after else []),
    ]


def _best_window(lines: list[Marked]) -> int:
    """The line to begin at so that most matched characters are seen; the first such, with a lead if there is room."""
    last = max(len(lines) - LINES_SHOWN, 0)
    matches = [sum(marked for _, marked in line) for line in lines]
    seen = [sum(matches[first : first + LINES_SHOWN]) for first in range(last + 1)]
    best = max(range(last + 1), key=lambda first: (seen[first], -first))
    hit = next((at for at in range(best, len(lines)) if matches[at]), best)
    lead = max(hit - LEAD, 0)
    return lead if lead <= last and seen[lead] == seen[best] else best


def _closing(result: QueryResult, style: Style) -> str:
    verdict = result.coverage.verdict
    sources = {segment.source.id for segment in result.segments}
    amount = f" {count(len(result.segments), 'passage')} from {count(len(sources), 'source')}." if sources else ""
    lines = [style(VERDICT_COLOURS[verdict], f"● {verdict_line(result)}") + amount]
    lines += [f"  {style('yellow', 'missing')}: {safe_line(line)}" for line in missing(result)]
    lines += [f"  {style('yellow', 'warning')}: {safe_line(line)}" for line in result.warnings]
    cut = result.budget_contract.segments_cut
    if cut:
        budget = result.budget_contract.tokens
        lines.append(style("dim", f"  {count(cut, 'passage')} left out for the budget of {budget:,} tokens"))
    return "\n".join(lines)
