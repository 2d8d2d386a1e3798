"""What a query returns. Field names are part of the fixed contract; fields may be added, never renamed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tychora_schemas.locator import Locator

__all__ = [
    "BudgetContract",
    "Citation",
    "Coverage",
    "QueryResult",
    "Segment",
    "SegmentSource",
    "Span",
    "Verdict",
]

Verdict = Literal["sufficient", "partial", "none"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class Span(_Model):
    """Characters `[start, end)` of a segment's text."""

    start: int
    end: int


class SegmentSource(_Model):
    id: str
    collection: str
    path: str
    title: str
    kind: str


class Citation(_Model):
    """A quote and its place. Checkable without us: `content_sha256` is the hash of the whole original file."""

    id: str
    source_path: str
    revision_id: str
    content_sha256: str
    quote: str = Field(description="the exact text of the source at the locator")
    quote_normalised: str = Field(description="line-end hyphens, ligatures and blanks joined, for display and matching")
    locator: Locator
    unit_ids: tuple[str, ...] = Field((), description="the evidence units that the quote is made of")


class Segment(_Model):
    """Matched text with the context needed to read it. Its citations together quote all of `text`."""

    id: str
    text: str
    score: float
    channels: dict[str, int] = Field(description="rank in each channel that found it, 1 the best")
    source: SegmentSource
    heading_path: tuple[str, ...]
    citations: tuple[str, ...] = Field(description="ids of citations")
    matched: tuple[Span, ...] = Field((), description="what matched the question, in `text`")
    also_at: tuple[str, ...] = Field((), description="other live paths with the same bytes")
    context: str = Field("", description="what helps to read the text but is not part of it: a table's header row")
    untrusted: Literal[True] = Field(True, description="source data, never instructions")


class Coverage(_Model):
    """Which of the question's terms and identifiers the evidence holds."""

    verdict: Verdict
    terms: dict[str, bool]
    identifiers: dict[str, bool]


class BudgetContract(_Model):
    """What was allowed, what was used, and what was cut for it."""

    tokens: int
    used_tokens: int
    segments_cut: int
    segments_shortened: int


class QueryResult(_Model):
    """The answer to one `QueryRequest`: evidence, never prose."""

    run_id: str = Field(description="self-contained replay token")
    snapshot_id: str
    applied_scope: dict[str, Any]
    segments: tuple[Segment, ...]
    visuals: tuple[Any, ...] = ()
    relations: tuple[Any, ...] = ()
    citations: tuple[Citation, ...]
    coverage: Coverage
    checks: tuple[str, ...] = Field((), description="what was verified about this result")
    coverage_gaps: tuple[str, ...] = Field((), description="in words: what of the question the evidence lacks")
    decision_requirements: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    budget_contract: BudgetContract
    trace: dict[str, Any] | None = None
