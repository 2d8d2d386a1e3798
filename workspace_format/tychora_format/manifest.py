"""The manifest: one complete, immutable state of the bundle. A snapshot's id is the SHA-256 of its manifest."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from tychora_format.paths import is_plain_path
from tychora_schemas.errors import CorruptWorkspace, UnsupportedContent
from tychora_schemas.identity import canonical_json, content_sha256

__all__ = [
    "FORMAT_VERSION",
    "BatchEntry",
    "FileEntry",
    "Incomplete",
    "Manifest",
    "Moment",
    "Ranges",
    "as_ranges",
    "from_ranges",
    "snapshot_path",
]

FORMAT_VERSION = 2
"""The version of the bundle's layout. It is not the version of the library. `versions.py` says what changed."""

Ranges = tuple[tuple[int, int], ...]
"""Sorted, disjoint, non-touching half-open ranges of row numbers."""

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def _plain(path: str) -> str:
    if not is_plain_path(path):
        raise ValueError(f"not a plain relative path: {path!r}")
    return path


def _rising(ranges: Ranges) -> Ranges:
    end = -1
    for first, last in ranges:
        if first <= end or last <= first:
            raise ValueError("dead rows are not sorted, disjoint ranges")
        end = last
    return ranges


def _moment(text: str) -> str:
    datetime.fromisoformat(text)
    return text


Moment = Annotated[str, AfterValidator(_moment)]
"""A moment as ISO 8601 writes it."""


class Incomplete(CorruptWorkspace):
    """A file of a snapshot is not here: it is lost, or a plain file syncer has not brought it yet."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=False)


class FileEntry(_Strict):
    """One immutable file of the bundle."""

    path: Annotated[str, AfterValidator(_plain)]
    size: int = Field(ge=0)
    sha256: Sha256


class BatchEntry(_Strict):
    """One batch: `id` is a hash over its files, `tag` marks its rows in the lexical index (unique in a manifest)."""

    id: Annotated[str, Field(pattern=r"^batch_[0-9a-f]{64}$")]
    tag: int = Field(ge=0, lt=1 << 32)
    rows: int = Field(ge=0, lt=1 << 32)
    sources: int = Field(ge=0, lt=1 << 32)
    merkle_root: Sha256
    families: dict[str, int] = Field(default_factory=dict, description="family name → vectors stored")
    files: tuple[FileEntry, ...]

    def file(self, name: str) -> FileEntry | None:
        """The entry of the file called `name` inside the batch's folder, if the batch has it."""
        path = f"batches/{self.id}/{name}"
        return next((entry for entry in self.files if entry.path == path), None)

    def folder(self, name: str) -> list[FileEntry]:
        """The entries of all files below the folder `name` of the batch."""
        prefix = f"batches/{self.id}/{name}/"
        return [entry for entry in self.files if entry.path.startswith(prefix)]


class Manifest(_Strict):
    """What a snapshot consists of. `dead` lists, per batch, the source rows that are past."""

    format: int
    features: tuple[str, ...] = ()
    parents: tuple[Sha256, ...]
    time: Moment
    content_root: Sha256
    batches: tuple[BatchEntry, ...]
    dead: dict[str, Annotated[Ranges, AfterValidator(_rising)]] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _dead_rows_exist(self) -> Self:
        sources = {entry.id: entry.sources for entry in self.batches}
        for batch_id, ranges in self.dead.items():
            if batch_id not in sources or (ranges and ranges[-1][1] > sources[batch_id]):
                raise ValueError(f"dead rows of {batch_id}, which has no such rows")
        return self

    def encode(self) -> bytes:
        """The manifest's bytes: canonical JSON, the same for the same content."""
        return canonical_json(self.model_dump(mode="json"))

    @property
    def when(self) -> datetime:
        """The moment of publishing, with time zone."""
        moment = datetime.fromisoformat(self.time)
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    @classmethod
    def decode(cls, data: bytes, snapshot_id: str) -> Manifest:
        """Read a manifest whose hash must be `snapshot_id`.

        Raises CorruptWorkspace when bytes and name disagree or the content is no manifest, and UnsupportedContent
        for a newer format or a required feature that this version does not know.
        """
        path = snapshot_path(snapshot_id)
        if content_sha256(data) != snapshot_id:
            raise CorruptWorkspace(
                f"{path} is damaged: its bytes do not match its name",
                next_step="restore the file from another copy of the bundle, or ask an older snapshot with --at",
            )
        try:
            raw: Any = json.loads(data)
            check_version(raw, path)
            return cls.model_validate(raw)
        except (ValueError, RecursionError, ValidationError) as error:
            raise CorruptWorkspace(
                f"{path} is no valid manifest: {str(error).splitlines()[0]}",
                next_step="restore the file from another copy of the bundle",
            ) from error


KNOWN_FEATURES: frozenset[str] = frozenset()


def check_version(raw: Any, path: str) -> None:
    """Refuse a format or a required feature that this version does not know. `raw` is the decoded JSON of `path`."""
    if not isinstance(raw, dict) or not isinstance(raw.get("format"), int):
        raise ValueError("it names no format version")
    features = raw.get("features") or []
    if not isinstance(features, list) or not all(isinstance(each, str) for each in features):
        raise ValueError("its features are no list of names")
    unknown = sorted(set(features) - KNOWN_FEATURES)
    if raw["format"] > FORMAT_VERSION or raw["format"] < 1 or unknown:
        what = f"the required feature {unknown[0]!r}" if unknown else f"format version {raw['format']}"
        raise UnsupportedContent(
            f"{path} needs {what}, which this version of Tychora does not read",
            next_step="install a newer Tychora: pip install --upgrade tychora",
        )


def snapshot_path(snapshot_id: str) -> str:
    """Where the manifest of a snapshot lies in the bundle."""
    return f"snapshots/{snapshot_id}.json"


def as_ranges(rows: set[int]) -> Ranges:
    """Row numbers as the shortest list of half-open ranges."""
    ranges: list[tuple[int, int]] = []
    for row in sorted(rows):
        if ranges and ranges[-1][1] == row:
            ranges[-1] = (ranges[-1][0], row + 1)
        else:
            ranges.append((row, row + 1))
    return tuple(ranges)


def from_ranges(ranges: Ranges) -> set[int]:
    """The row numbers that `ranges` cover."""
    return {row for first, last in ranges for row in range(first, last)}
