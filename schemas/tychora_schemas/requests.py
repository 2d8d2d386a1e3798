"""What can be asked of the functions."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["FILTER_KEYS", "Channel", "Fusion", "QueryRequest"]

Channel = Literal["exact", "lexical", "text", "visual", "graph", "tree"]
Fusion = Literal["convex", "rrf"]

FILTER_KEYS = ("collection", "kind", "path", "language")
"""What eligibility can go by. `path` takes shell patterns (`docs/*.md`), the others exact values."""


class QueryRequest(BaseModel):
    """One question. Filters of one key are alternatives, of several keys all must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(max_length=100_000)
    k: int = Field(8, ge=1, le=100, description="segments wanted")
    at: str = Field("main", description="main, main~N, a date, a tag or the prefix of a snapshot hash")
    filters: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    channels: tuple[Channel, ...] = ("exact", "lexical", "text")
    fusion: Fusion = "convex"
    budget_tokens: int = Field(6_000, ge=1, description="most tokens that the segments' texts may hold together")
    segment_tokens: int = Field(1_500, ge=1, description="most tokens of one segment")
    context: bool = Field(True, description="widen segments by what is needed to read them")
    strict: bool = Field(False, description="fail when a channel fails, instead of a warning")
    trace: bool = False
