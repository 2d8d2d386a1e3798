"""What this machine remembers of the last sync between two places, so that one with nothing to do asks little.

Three listings tell whether a place is as it was: its log, its statements, its tags. The memory lies in the cache: who
loses it only looks closer the next time.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from contextlib import suppress

from tychora_format.cache import Cache
from tychora_format.store import Store
from tychora_schemas.errors import TychoraError
from tychora_schemas.transport import SyncReport

__all__ = ["LastSync", "Seen", "look"]

Seen = dict[str, list[tuple[str, int, float]]]
"""Path, size and time of the newest log entry, of the newest statement, and of every tag."""

CLOCKS_APART = 900.0
"""Seconds by which an object store's clock may differ from ours: S3 refuses requests beyond that."""


def look(store: Store) -> Seen:
    """How a place is now. Costs three requests."""
    listed = {
        folder: [(entry.path, entry.size, entry.modified) for entry in store.list(folder)]
        for folder in ("log/main/", "statements/", "tags/")
    }
    # The other files are written once: of those the newest says it all.
    return {folder: found if folder == "tags/" else found[-1:] for folder, found in listed.items()}


class LastSync:
    """The last sync from one store to another, as far as this machine knows."""

    def __init__(self, cache: Cache, source: str, destination: str) -> None:
        name = hashlib.sha256(f"{source}\0{destination}".encode()).hexdigest()
        self.file = cache.directory / "syncs" / f"{name}.json"

    def repeated(self, source: Seen, destination: Store) -> SyncReport | None:
        """What a sync would report where neither place has changed since; None where one has."""
        with suppress(OSError, ValueError, KeyError, TychoraError):
            known = json.loads(self.file.read_bytes())
            if known["source"] == _plain(source) and known["destination"] == _plain(look(destination)):
                return SyncReport.model_validate(known["report"])
        return None

    def remember(self, source: Seen, destination: Store, report: SyncReport, current: bool) -> None:
        """Keep what both places looked like; `current` says whether both then had the same newest snapshot.

        `source` was seen before the sync began.
        """
        seen = look(destination)
        if _may_change_unseen(source) or _may_change_unseen(seen):
            self.file.unlink(missing_ok=True)
            return
        kept: dict[str, object] = {
            "outcome": "up_to_date" if current else "ahead",
            **dict.fromkeys(("files", "bytes", "moved_bytes", "snapshots", "statements", "seconds"), 0),
            **dict.fromkeys(("tags", "conflicts"), ()),
        }
        record = {"source": source, "destination": seen, "report": {**report.model_dump(mode="json"), **kept}}
        temporary = self.file.with_name(f".{self.file.name}.{os.urandom(8).hex()}")
        with suppress(OSError):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(json.dumps(record), "utf-8")
            temporary.replace(self.file)


def _plain(seen: Seen) -> object:
    return json.loads(json.dumps(seen))


def _may_change_unseen(seen: Seen) -> bool:
    """Whether a tag may move without a change of its size and time: stores that count whole seconds, or say none."""
    recent = time.time() - CLOCKS_APART
    return any(not modified or (modified.is_integer() and modified > recent) for _, _, modified in seen["tags/"])
