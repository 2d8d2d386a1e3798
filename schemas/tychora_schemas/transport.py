"""What a bundle's journeys return: sync, pack, unpack."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tychora_schemas.receipts import NamedPath

__all__ = ["MergeConflict", "PackReport", "SyncReport", "UnpackReport"]


class _Receipt(BaseModel):
    model_config = ConfigDict(extra="ignore")


class MergeConflict(_Receipt):
    """A source that both copies changed since they parted, and which state is now current."""

    path: str
    source_id: str
    note: str
    kept_revision: str | None = None
    other_revision: str | None = None


class SyncReport(_Receipt):
    """What `sync` did, or with `dry_run` would do, to the destination."""

    source: str
    destination: str
    outcome: Literal["created", "fast_forward", "merged", "up_to_date", "ahead"] = Field(
        description="up_to_date: equal; ahead: the destination already has all of it and more"
    )
    dry_run: bool = False
    snapshot_id: str = Field("", description="the destination's newest snapshot afterwards")
    files: int = Field(0, description="files that were, or are to be, moved")
    bytes: int = Field(0, description="their bytes")
    moved_bytes: int = Field(0, description="bytes of batches, originals and manifests that this run read")
    snapshots: int = Field(0, description="snapshots that were new to the destination")
    statements: int = Field(0, description="statements that were new to the destination")
    tags: list[str] = Field(default_factory=list, description="tags that were made or moved")
    conflicts: list[MergeConflict] = Field(default_factory=list)
    refused: list[NamedPath] = Field(default_factory=list, description="erased content that was not taken back")
    notes: list[NamedPath] = Field(default_factory=list, description="what is no fault, or may be one: look at it")
    seconds: float = 0.0


class PackReport(_Receipt):
    """A packed file that was written."""

    path: str
    snapshot_id: str
    sha256: str = Field(description="of the whole file: the same snapshot packs to the same bytes")
    files: int
    bytes: int
    snapshots: int = Field(description="how many snapshots of the history it holds")
    originals: bool = Field(description="whether the originals travel with it")
    notes: list[NamedPath] = Field(default_factory=list)
    seconds: float = 0.0


class UnpackReport(_Receipt):
    """A packed file that became a directory."""

    path: str
    snapshot_id: str
    files: int
    bytes: int
    seconds: float = 0.0
