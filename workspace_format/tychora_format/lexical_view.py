"""The files of a view: links to the component files of many batches, `meta.json`, and who is alive in each.

Tantivy finds a segment by what `meta.json` lists; which rows of it are deleted, by a `.del` bit set. Both are written
here by hand (pinned: Tantivy 0.27, index format 7), so that no row is ever removed from a batch and no writer is ever
opened on a view, which could merge its segments.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import struct
import tempfile
import uuid
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tychora_schemas.errors import CorruptWorkspace

__all__ = [
    "DESCRIPTION",
    "Alive",
    "LexicalPart",
    "complete",
    "describe",
    "discard",
    "forget_old",
    "make",
    "mask_digest",
    "naming_damage",
]

DESCRIPTION = "lexical.json"
"""The file beside a batch's component files: segment id, rows, tag, sizes, schema."""

KEPT_VIEWS = 32
"""Views are made for every state and filter: only so many of those used last stay."""

DELETES_OPSTAMP = 1
_FOOTER_MAGIC = 1337
_COMPONENT = re.compile(r"[0-9a-f]{32}\.[a-z]+")

Alive = NDArray[np.bool_]
"""One bool per row of a part: false for a row that must not be found."""


@dataclass(frozen=True, slots=True)
class LexicalPart:
    """The lexical files of one batch: their directory, the batch's tag (unique in a view) and number of rows."""

    directory: Path
    tag: int
    rows: int


def describe(part: LexicalPart) -> dict[str, Any]:
    """The part's `lexical.json`. Raises CorruptWorkspace where it is missing, unreadable or of another batch."""
    path = part.directory / DESCRIPTION
    try:
        described: dict[str, Any] = json.loads(path.read_bytes())
        if (described["tag"], described["rows"]) != (part.tag, part.rows):
            raise ValueError("tag or rows differ from the batch's")
        uuid.UUID(described["segment_id"])
        if not isinstance(described["files"], dict) or not isinstance(described["index"], dict):
            raise ValueError("it lists no files or no schema")
        if not all(_COMPONENT.fullmatch(name) and type(size) is int for name, size in described["files"].items()):
            raise ValueError("it lists what is no component file")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _corrupt(path, error) from error
    return described


def mask_digest(mask: Alive | None) -> str | None:
    """What tells two masks apart in the name of a view."""
    return None if mask is None else sha256(np.packbits(mask).tobytes()).hexdigest()


def complete(place: Path, described: Sequence[dict[str, Any]]) -> bool:
    """Whether the view is there with every component file in its size."""
    try:
        (place / "meta.json").stat()
        return all(
            (place / name).stat().st_size == size for segment in described for name, size in segment["files"].items()
        )
    except OSError:
        return False


def make(
    place: Path, parts: Sequence[LexicalPart], described: Sequence[dict[str, Any]], masks: Sequence[Alive | None]
) -> None:
    """Make the view in one step: a reader sees all of it or nothing; of several makers one wins, the others rest.

    Raises CorruptWorkspace naming a component file that is missing or has another size.
    """
    place.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=place.parent, prefix=".view-"))
    try:
        segments = []
        for part, segment, mask in zip(parts, described, masks, strict=True):
            for name, size in segment["files"].items():
                _link(part.directory / name, scratch / name, size)
            entry: dict[str, Any] = {"segment_id": segment["segment_id"], "max_doc": part.rows, "deletes": None}
            if mask is not None:
                dead = part.rows - int(np.count_nonzero(mask))
                entry["deletes"] = {"num_deleted_docs": dead, "opstamp": DELETES_OPSTAMP}
                deleted = scratch / f"{uuid.UUID(segment['segment_id']).hex}.{DELETES_OPSTAMP}.del"
                deleted.write_bytes(_alive_bit_set(mask))
            segments.append(entry)
        meta = {**described[0]["index"], "segments": segments, "opstamp": DELETES_OPSTAMP}
        (scratch / "meta.json").write_text(json.dumps(meta), "utf-8")
        with suppress(OSError):
            scratch.rename(place)
        if not complete(place, described):
            discard(place)
            with suppress(OSError):
                scratch.rename(place)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def discard(place: Path) -> None:
    """Remove a view that is of no use, so that it is never seen half there."""
    aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=".gone-"))
    with suppress(OSError):
        place.rename(aside / place.name)
    shutil.rmtree(aside, ignore_errors=True)


def forget_old(directory: Path, keep: Path) -> None:
    """Remove the views used longest ago. Whoever has one of them open goes on reading it (or keeps it, on Windows)."""
    with suppress(OSError):
        views = [path for path in directory.iterdir() if path != keep and (path / "meta.json").exists()]
        for path in sorted(views, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT_VIEWS - 1 :]:
            discard(path)


def _link(source: Path, target: Path, size: int) -> None:
    try:
        if source.stat().st_size != size:
            raise ValueError(f"{source.stat().st_size} bytes instead of {size}")
    except (OSError, ValueError) as error:
        raise _corrupt(source, error) from error
    for link in (os.link, os.symlink):
        with suppress(OSError, NotImplementedError):
            link(source.resolve(), target)
            return
    shutil.copyfile(source, target)


def _alive_bit_set(alive: Alive) -> bytes:
    """Tantivy's `.del` file: u32 rows, a bit per row in u64 words, and the footer with a checksum."""
    bits = np.packbits(alive, bitorder="little").tobytes()
    body = struct.pack("<I", len(alive)) + bits.ljust(-(-len(alive) // 64) * 8, b"\0")
    footer = json.dumps(
        {"version": {"major": 0, "minor": 27, "patch": 0, "index_format_version": 7}, "crc": zlib.crc32(body)},
        separators=(",", ":"),
    ).encode()
    return body + footer + struct.pack("<II", len(footer), _FOOTER_MAGIC)


@contextmanager
def naming_damage(parts: Sequence[LexicalPart]) -> Iterator[None]:
    """What goes wrong inside Tantivy is told as CorruptWorkspace with the name of the damaged file, if one is.

    A panic of Tantivy's is no `Exception` in Python: it never leaves here as it is.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        for part in parts:
            for name in describe(part)["files"]:
                _check(part.directory / name)
        if isinstance(error, Exception):
            raise
        raise CorruptWorkspace(f"the lexical view cannot be read: {error}", next_step="clear the cache") from error


def _check(path: Path) -> None:
    """Raise CorruptWorkspace unless the component file has the checksum that its footer states."""
    try:
        data = path.read_bytes()
        length, magic = struct.unpack("<II", data[-8:])
        footer = json.loads(data[-8 - length : -8])
        if magic != _FOOTER_MAGIC or footer["crc"] != zlib.crc32(data[: -8 - length]):
            raise ValueError("its checksum is another")
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        raise _corrupt(path, error) from error


def _corrupt(path: Path, error: Exception) -> CorruptWorkspace:
    reason = "missing" if isinstance(error, FileNotFoundError) else f"damaged: {error}"
    return CorruptWorkspace(f"the lexical file {path} is {reason}", next_step="run verify, then restore or re-sync it")
