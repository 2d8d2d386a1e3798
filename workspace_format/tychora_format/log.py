"""The commit log: creating `log/main/<n>.json`, which must not exist yet, is the commit.

Nothing is visible before that, and everything the entry names is durable before it. SPEC.md section 5 gives the
protocol as numbered steps.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from tychora_format.manifest import Moment
from tychora_format.sealed import seal, unseal
from tychora_format.sequence import Sequence
from tychora_format.store import Store
from tychora_schemas.errors import Conflict, CorruptWorkspace, NotFound
from tychora_schemas.identity import content_sha256

__all__ = ["Head", "Log", "LogEntry", "Proposal"]

ATTEMPTS = 200
"""How often a writer puts its work on top of rivals' before it gives up with `conflict`."""


class LogEntry(BaseModel):
    """One commit. `base` is the entry that the writer started from, `previous` the hash of the entry before this.

    Entries that were based on one before `boundary` are void. `collecting` names the list of files that a collection
    is removing: until an entry no longer says so, no commit may count on them.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    number: int = Field(ge=1)
    snapshot: str = Field(pattern=r"^[0-9a-f]{64}$")
    previous: str | None = Field(pattern=r"^[0-9a-f]{64}$")
    base: int = Field(ge=0)
    boundary: int = Field(ge=0)
    collecting: str | None = Field(None, pattern=r"^[0-9a-f]{64}$")
    write_id: str
    time: Moment

    @model_validator(mode="after")
    def _follows_what_it_names(self) -> Self:
        if self.base >= self.number or self.boundary > self.number:
            raise ValueError("it counts on an entry that comes after it")
        return self

    def encode(self) -> bytes:
        """The entry's bytes, sealed."""
        return seal(self.model_dump(mode="json"))


@dataclass(frozen=True, slots=True)
class Head:
    """The newest valid entry, or the empty state before the first one (`number` 0, no snapshot)."""

    number: int
    snapshot: str | None
    boundary: int
    digest: str | None
    """SHA-256 of the entry with the highest number, valid or void: what the next entry names as `previous`."""
    newest: int
    """The highest number taken, which a void entry may hold."""
    collecting: str | None = None
    """The list of files that an open collection removes."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a writer wants the next entry to say. Only collections open and close one."""

    snapshot: str
    opens: str | None = None
    """The digest of the list of files that are removed from now on; it also draws the boundary here."""
    closes: bool = False


class Log:
    """The history of one branch at one location."""

    def __init__(self, store: Store, branch: str = "main") -> None:
        self.sequence = Sequence(store, f"log/{branch}")
        self._head: Head | None = None
        self._void: dict[tuple[int, int], bool] = {}

    def entry(self, number: int) -> LogEntry:
        """Entry `number`. Raises NotFound, or CorruptWorkspace when its bytes are no entry of that number."""
        return self._decode(number, self.sequence.read(number))

    def _decode(self, number: int, data: bytes) -> LogEntry:
        try:
            entry = LogEntry.model_validate(unseal(data, self.sequence.path(number)))
            if entry.number != number:
                raise ValueError(f"it says that it is entry {entry.number}")
            return entry
        except (ValueError, ValidationError) as error:
            raise CorruptWorkspace(
                f"{self.sequence.path(number)} is no valid log entry: {str(error).splitlines()[0]}",
                next_step="restore the file from a backup of this location, or sync the bundle into a new one",
            ) from error

    def is_void(self, entry: LogEntry) -> bool:
        """True when a collection advanced the boundary past `entry.base` before the entry was made."""
        key = entry.number, entry.base
        if key not in self._void:
            self._void[key] = any(
                between.boundary > entry.base
                for number in range(entry.base + 1, entry.number)
                if not self.is_void(between := self.entry(number))
            )
        return self._void[key]

    def head(self) -> Head:
        """The newest valid entry. Entries are written once: it is read again only when there is a newer number."""
        newest = self.sequence.newest(self._head.newest if self._head else 0)
        if self._head is not None and self._head.newest == newest:
            return self._head
        self._head = self._read_head(newest)
        return self._head

    def _read_head(self, newest: int) -> Head:
        number = newest
        digest = None
        while number:
            data = self.sequence.read(number)
            digest = digest or content_sha256(data)
            entry = self._decode(number, data)
            if not self.is_void(entry):
                return Head(number, entry.snapshot, entry.boundary, digest, newest, entry.collecting)
            number -= 1
        return Head(0, None, 0, digest, newest)

    def standing(self) -> Iterator[LogEntry]:
        """The valid entries, newest first, as far as they are here: a plain file syncer may bring later ones first."""
        for number in reversed(self.sequence.numbers()):
            with suppress(NotFound):
                entry = self.entry(number)
                if not self.is_void(entry):
                    yield entry

    def history(self) -> list[LogEntry]:
        """All valid entries, newest first. Raises CorruptWorkspace when the chain of hashes is broken."""
        entries: list[LogEntry] = []
        previous: str | None = None
        for expected, (number, data) in enumerate(self.sequence.entries(), start=1):
            entry = self._decode(number, data)
            if number != expected or entry.previous != previous:
                raise CorruptWorkspace(
                    f"{self.sequence.path(number)} does not continue the entry before it",
                    next_step="restore the missing or altered log entries from a backup of this location",
                )
            previous = content_sha256(data)
            if not self.is_void(entry):
                entries.append(entry)
        return entries[::-1]

    def commit(
        self,
        build: Callable[[Head], Proposal | None],
        *,
        write_id: str,
        now: Callable[[], str],
        pause: Callable[[float], None] = time.sleep,
    ) -> Head:
        """Put a snapshot on top of the newest entry, again and again until no rival is faster.

        `build(head)` writes a manifest that continues `head` and proposes it, or returns None when on top of that head
        there is nothing left to do (then the head is returned as it is). It must be safe to call repeatedly.
        `write_id` is unique to this write. Raises Conflict after ATTEMPTS lost races.
        """
        for attempt in range(ATTEMPTS):
            began = time.monotonic()
            head = self._head = self._read_head(self.sequence.newest())
            proposal = build(head)
            if proposal is None:
                return head
            number = head.newest + 1
            entry = LogEntry(
                number=number,
                snapshot=proposal.snapshot,
                previous=head.digest,
                base=head.number,
                boundary=number if proposal.opens else head.boundary,
                collecting=proposal.opens or (None if proposal.closes else head.collecting),
                write_id=write_id,
                time=now(),
            )
            if self.sequence.create(number, entry.encode()) and not self.is_void(entry):
                digest = content_sha256(entry.encode())
                return Head(number, entry.snapshot, entry.boundary, digest, number, entry.collecting)
            # The work of putting a snapshot on top is what rivals lose: so many times that long they keep out of each
            # other's way. With a fixed pause eight writers would build eight manifests for each that is committed.
            pause(random.uniform(0, (time.monotonic() - began) * 2 ** min(attempt, 3)))
        raise Conflict(
            f"other writers committed {ATTEMPTS} times in the meantime",
            next_step="try again when fewer writers are at work; what was prepared is kept and will be found again",
        )
