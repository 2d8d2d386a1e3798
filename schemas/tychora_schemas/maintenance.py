"""What the upkeep of a workspace returns: compact, collect, withdraw, restore, delete, expire, policy."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from tychora_schemas.receipts import NamedPath, PathReport

__all__ = [
    "CollectReport",
    "CompactReport",
    "ErasureReport",
    "ExpiryReport",
    "PolicyEntry",
    "RollbackReport",
    "StatementReport",
    "TagReport",
    "UpgradeReport",
]


class _Receipt(BaseModel):
    model_config = ConfigDict(extra="ignore")


class TagReport(_Receipt):
    """A tag, and what it named before."""

    name: str
    snapshot_id: str
    before: str | None = None


class RollbackReport(_Receipt):
    """The snapshot that holds again what an older one held."""

    snapshot_id: str
    before: str = Field(description="what was the newest snapshot until now; it stays in the history")
    restored: str = Field(description="the snapshot whose sources are live again")
    sources: int


class CompactReport(_Receipt):
    """What `compact` made of the newest snapshot's batches."""

    snapshot_id: str
    batches_before: int
    batches_after: int
    rows_before: int = Field(description="chunk rows that the batches held, superseded ones included")
    rows_after: int
    bytes_written: int = 0
    notes: list[NamedPath] = Field(default_factory=list)
    seconds: float = 0.0


class CollectReport(_Receipt):
    """What `collect` removed, or with `dry_run` would remove."""

    dry_run: bool = False
    removed: list[PathReport] = Field(default_factory=list)
    removed_bytes: int = 0
    young: int = Field(0, description="unreachable files that stay until the grace period is over")
    snapshots_removed: list[str] = Field(default_factory=list)
    finished: bool = Field(False, description="whether it also finished a collection that was interrupted")
    batches_rewritten: int = Field(0, description="batches written anew without what was erased")
    notes: list[NamedPath] = Field(default_factory=list)
    seconds: float = 0.0


class StatementReport(_Receipt):
    """A statement that was made: what is withdrawn or restored, and which sources it concerns now."""

    statement_id: str
    kind: Literal["withdrawal", "restoration", "policy"]
    target: str
    sources: list[PathReport] = Field(default_factory=list)
    made: bool = Field(True, description="false when it was in force already")
    notes: list[NamedPath] = Field(default_factory=list)


class ErasureReport(_Receipt):
    """What `delete` erased. It is hidden at once; its bytes leave with the next collection."""

    statement_id: str
    target: str
    sources: list[PathReport] = Field(default_factory=list)
    contents: list[str] = Field(default_factory=list, description="SHA-256 of the originals that no other source has")
    snapshot_id: str = ""
    collected: bool = Field(False, description="whether the bytes are gone from this location already")
    notes: list[NamedPath] = Field(default_factory=list)


class ExpiryReport(_Receipt):
    """What the retention policies made due."""

    dry_run: bool = False
    due: list[PathReport] = Field(default_factory=list)
    erasures: list[str] = Field(default_factory=list, description="ids of the statements made")


class PolicyEntry(_Receipt):
    """One policy in force."""

    statement_id: str
    time: str
    subject: dict[str, Any]


class UpgradeReport(_Receipt):
    """The format that a workspace had and has."""

    format_before: int
    format: int
    newest: int
    brings: list[str] = Field(default_factory=list, description="what each step makes possible")
