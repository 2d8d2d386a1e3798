"""What two snapshots differ in: sources, units, and the evidence that the same questions find."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tychora_schemas.locator import Locator

__all__ = ["AnswerDrift", "Change", "DifferenceReport", "DriftedSegment", "SourceDifference", "UnitDifference"]


Change = Literal["added", "removed", "changed", "moved", "reread"]


class _Receipt(BaseModel):
    model_config = ConfigDict(extra="ignore")


class UnitDifference(_Receipt):
    """A unit whose text only one of the two snapshots has at this source."""

    change: Literal["added", "removed"]
    kind: str
    text: str
    locator: Locator


class SourceDifference(_Receipt):
    """A source that the two snapshots hold differently."""

    change: Change = Field(description="reread: the same bytes, read by another parser or with other settings")
    source_id: str
    collection: str
    path: str
    was: str | None = Field(None, description="its path in the first snapshot, where that was another")
    units_kept: int = 0
    units_added: int = 0
    units_removed: int = 0
    units: list[UnitDifference] = Field(default_factory=list, description="the first of them")


class DriftedSegment(_Receipt):
    """Evidence that changed its rank for a question; rank 0 means that it was not among the answers."""

    path: str
    text: str = Field(description="its beginning")
    rank_before: int
    rank_after: int


class AnswerDrift(_Receipt):
    """What became of the answer to one question."""

    question: str
    same: bool = Field(description="the same evidence in the same order")
    kept: int = Field(description="segments that both answers have")
    verdict_before: str
    verdict_after: str
    segments: list[DriftedSegment] = Field(default_factory=list)


class DifferenceReport(_Receipt):
    """From `before` to `after`."""

    before: str
    after: str
    same_content: bool = Field(description="the content roots are equal: nothing differs but the index")
    sources: list[SourceDifference] = Field(default_factory=list)
    unchanged: int = 0
    answers: list[AnswerDrift] = Field(default_factory=list)
