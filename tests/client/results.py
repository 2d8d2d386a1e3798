"""Results made by hand, for what a renderer has to cope with."""

from __future__ import annotations

from tychora_schemas.locator import Locator
from tychora_schemas.result import BudgetContract, Citation, Coverage, QueryResult, Segment, SegmentSource, Span

__all__ = ["result", "segment_of"]


def segment_of(
    text: str,
    number: int = 1,
    *,
    path: str = "docs/handbook.md",
    title: str = "Handbook",
    locator: Locator | None = None,
    matched: str = "",
    context: str = "",
    heading_path: tuple[str, ...] = (),
) -> tuple[Segment, Citation]:
    """A segment with one citation of all its text; `matched` is lit wherever it occurs."""
    citation = Citation(
        id=f"citation_{number:064x}",
        source_path=path,
        revision_id=f"revision_{number:064x}",
        content_sha256=f"{number:064x}",
        quote=text,
        quote_normalised=text,
        locator=locator or Locator(lines=(7, 9)),
        unit_ids=(f"unit_{number:064x}",),
    )
    spans = []
    at = text.find(matched) if matched else -1
    while at >= 0:
        spans.append(Span(start=at, end=at + len(matched)))
        at = text.find(matched, at + len(matched))
    segment = Segment(
        id=f"segment_{number:064x}",
        text=text,
        score=1.0 / number,
        channels={"lexical": number},
        source=SegmentSource(id=f"source_{number:064x}", collection="default", path=path, title=title, kind="document"),
        heading_path=heading_path,
        citations=(citation.id,),
        matched=tuple(spans),
        context=context,
    )
    return segment, citation


def result(
    *pairs: tuple[Segment, Citation], verdict: str = "sufficient", tokens: int = 6000, warnings: tuple[str, ...] = ()
) -> QueryResult:
    """The result of a search that found these segments."""
    return QueryResult(
        run_id="run_example",
        snapshot_id="ab" * 32,
        applied_scope={},
        segments=tuple(segment for segment, _ in pairs),
        citations=tuple(citation for _, citation in pairs),
        coverage=Coverage(verdict=verdict, terms={"harbour": True, "crane": verdict == "sufficient"}, identifiers={}),
        warnings=warnings,
        budget_contract=BudgetContract(tokens=tokens, used_tokens=1, segments_cut=0, segments_shortened=0),
    )
