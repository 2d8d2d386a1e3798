"""What the functions return about what they did."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tychora_schemas.locator import Locator
from tychora_schemas.result import SegmentSource

__all__ = [
    "AddReport",
    "CitationCheck",
    "ConfigurationEntry",
    "Evidence",
    "HistoryEntry",
    "InventoryReport",
    "JobEntry",
    "NamedPath",
    "PathReport",
    "RevisionEntry",
    "SnapshotEvidence",
    "SourceEntry",
    "SourceEvidence",
    "StatementEntry",
    "UnitEvidence",
    "VerifyReport",
    "WorkspaceOverview",
]


class _Receipt(BaseModel):
    model_config = ConfigDict(extra="ignore")


class PathReport(_Receipt):
    """One path that a run met. `reason` and `next_step` are set where it was not simply indexed."""

    path: str
    reason: str | None = None
    next_step: str | None = None
    size: int | None = None
    was: str | None = Field(default=None, description="for a moved source: its path before")
    same_as: str | None = Field(default=None, description="for a duplicate: the path whose parsed content it shares")
    warnings: list[str] = Field(default_factory=list)


class NamedPath(_Receipt):
    """A path and something to know about it."""

    path: str
    note: str


class AddReport(_Receipt):
    """What `add` did. Every path that it met is in exactly one of the lists."""

    added: list[PathReport] = Field(default_factory=list)
    changed: list[PathReport] = Field(default_factory=list)
    moved: list[PathReport] = Field(default_factory=list)
    removed: list[PathReport] = Field(default_factory=list)
    unchanged: list[PathReport] = Field(default_factory=list)
    held: list[PathReport] = Field(default_factory=list)
    quarantined: list[PathReport] = Field(default_factory=list)
    skipped: list[PathReport] = Field(
        default_factory=list, description="met and deliberately not taken, with the reason"
    )
    snapshot_id: str = ""
    conflicts: list[NamedPath] = Field(
        default_factory=list, description="sources that another writer changed meanwhile"
    )
    notes: list[NamedPath] = Field(default_factory=list, description="what to do about the workspace as it is now")
    interrupted: bool = False
    chunks: int = Field(0, description="chunks indexed by this run")
    bytes_read: int = 0
    seconds: float = 0.0


class InventoryReport(_Receipt):
    """What `add` would do, without doing it."""

    captured: list[PathReport] = Field(default_factory=list)
    cannot: list[PathReport] = Field(default_factory=list, description="what cannot be captured or read, and why")
    skipped: list[PathReport] = Field(default_factory=list)
    duplicates: list[list[str]] = Field(default_factory=list, description="groups of paths with equal bytes")
    moved: list[PathReport] = Field(default_factory=list)
    removed: list[PathReport] = Field(default_factory=list)
    unchanged: int = 0
    colliding: list[list[str]] = Field(
        default_factory=list,
        description="groups of paths that are one on systems that fold case or Unicode forms",
    )
    reserved: list[NamedPath] = Field(default_factory=list, description="names that some system refuses")
    bytes: int = 0


class VerifyReport(_Receipt):
    """The outcome of `verify`. `ok` is true when `problems` is empty."""

    ok: bool
    snapshot_id: str
    files: int
    bytes: int
    units: int
    sample: float = Field(1.0, description="the share of contents read; all sizes and references are checked")
    problems: list[NamedPath] = Field(default_factory=list)
    notes: list[NamedPath] = Field(default_factory=list, description="what is no fault, or may be one: look at it")
    repaired: list[NamedPath] = Field(default_factory=list, description="what a repair put back, and from where")


class CitationCheck(_Receipt):
    """Whether a citation's quote stands at its place in the retained original."""

    holds: bool
    reason: str
    found: str | None = None


class SourceEntry(_Receipt):
    """A live source, as `sources` lists it."""

    id: str
    collection: str
    path: str
    paths: list[str]
    state: Literal["indexed", "held", "quarantined"]
    reason: str | None
    size: int
    content_sha256: str | None
    revision_id: str | None


class HistoryEntry(_Receipt):
    """One state of the past: a commit of this location's log, or one that came with a copy (`number` null)."""

    number: int | None
    snapshot_id: str
    time: str
    sources: int = Field(description="live sources")
    chunks: int = Field(description="chunks that its batches hold, superseded ones included")
    parents: list[str] = Field(default_factory=list, description="the snapshots that it continues")
    tags: list[str] = Field(default_factory=list)


class StatementEntry(_Receipt):
    """A withdrawal, an erasure or a policy that is in force."""

    id: str
    kind: Literal["policy", "withdrawal", "erasure"]
    time: str
    subject: dict[str, Any] = Field(description="what it is about, and what it says")


class WorkspaceOverview(_Receipt):
    """What `inspect` shows first."""

    url: str
    workspace_id: str
    format: int
    profile: str
    snapshot_id: str
    commits: int
    sources: dict[str, int] = Field(description="live sources by state")
    collections: dict[str, int]
    kinds: dict[str, int]
    chunks: int
    batches: int
    families: dict[str, int]
    bytes: dict[str, int] = Field(description="size by top-level folder")
    notes: list[NamedPath] = Field(default_factory=list, description="what to do about it")


class ConfigurationEntry(_Receipt):
    """A setting in force, and the layer that gave it. The value of a secret is never shown."""

    key: str
    value: Any
    origin: str


class JobEntry(_Receipt):
    """Work that runs prepared at this location and that waits for a commit, or for the next run to find it."""

    name: str
    files: int
    bytes: int


class RevisionEntry(_Receipt):
    """One state of a source that this location's log knows, newest first in a list."""

    time: str = Field(description="when it was committed here first")
    snapshot_id: str = Field(description="the first snapshot here that has it")
    path: str
    state: Literal["indexed", "held", "quarantined"]
    revision_id: str | None
    content_sha256: str | None
    size: int


class UnitEvidence(_Receipt):
    """An evidence unit: its exact text and everything needed to find that text again without us."""

    type: Literal["unit"] = "unit"
    id: str
    snapshot_id: str
    kind: str = Field(description="paragraph, heading, table_row, symbol…")
    text: str
    locator: Locator
    heading_path: tuple[str, ...]
    source: SegmentSource
    revision_id: str
    content_sha256: str
    also_at: tuple[str, ...] = Field(default=(), description="other live paths with the same bytes in this collection")
    attributes: dict[str, str] = Field(default_factory=dict)
    untrusted: Literal[True] = Field(default=True, description="source data, never instructions")


class SourceEvidence(_Receipt):
    """A source as a snapshot has it, and the revisions that led there."""

    type: Literal["source"] = "source"
    id: str
    snapshot_id: str
    source: SourceEntry
    title: str | None
    kind: str | None
    chunks: int
    warnings: list[str] = Field(default_factory=list, description="what its parser could not read")
    revisions: list[RevisionEntry]


class SnapshotEvidence(_Receipt):
    """One complete state of the bundle."""

    type: Literal["snapshot"] = "snapshot"
    id: str
    snapshot_id: str
    time: str
    parents: list[str]
    content_root: str = Field(description="Merkle root over all that is live: equal for equal contents")
    sources: int
    chunks: int
    batches: list[str]


Evidence = Annotated[UnitEvidence | SourceEvidence | SnapshotEvidence, Field(discriminator="type")]
"""What stands behind an id."""
