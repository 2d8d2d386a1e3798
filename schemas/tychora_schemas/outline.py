"""The outline of a source."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["OutlineEntry", "OutlineReport"]


class _Receipt(BaseModel):
    model_config = ConfigDict(extra="ignore")


class OutlineEntry(_Receipt):
    """A heading or symbol, and where what stands under it begins."""

    heading_path: tuple[str, ...] = Field(description="outermost first; empty for what stands before the first heading")
    first_unit_id: str
    page: int | None = Field(None, description="1-based index")
    lines: tuple[int, int] | None = Field(None, description="of the first unit, 1-based, both included")
    chunks: int = Field(description="chunks directly under it")


class OutlineReport(_Receipt):
    """The headings of a source in reading order."""

    source_id: str
    snapshot_id: str
    path: str
    title: str
    entries: tuple[OutlineEntry, ...]
