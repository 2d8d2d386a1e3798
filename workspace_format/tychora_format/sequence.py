"""A numbered sequence of write-once files: the log and the statements are each one.

The next number belongs to whoever creates its file first. A store may carry out a write and lose the answer, so a
refusal proves nothing by itself: the file is read back, and its `write_id` says whose it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tychora_format.store import Store
from tychora_schemas.errors import NotFound, ProviderUnavailable, TychoraError

__all__ = ["Sequence"]

DIGITS = 20


class Sequence:
    """Files `<folder>/<20 digits>.json` in a store."""

    def __init__(self, store: Store, folder: str) -> None:
        self.store = store
        self.folder = folder

    def path(self, number: int) -> str:
        """Where entry `number` lies."""
        return f"{self.folder}/{number:0{DIGITS}d}.json"

    def numbers(self) -> list[int]:
        """All numbers present, rising. Files of any other name are not part of the sequence."""
        pattern = re.compile(rf"{re.escape(self.folder)}/(\d{{{DIGITS}}})\.json\Z")
        found = (pattern.match(entry.path) for entry in self.store.list(self.folder + "/"))
        return sorted(int(match.group(1)) for match in found if match)

    def newest(self, known: int = 0) -> int:
        """The highest number present; 0 when there is none.

        A reader that has met `known` asks for the numbers that follow it one by one, mostly for one that is not there
        yet: numbers have no gaps and are never taken back, and a long sequence takes long to list.
        """
        if not known:
            return max(self.numbers(), default=0)
        while self.store.size(self.path(known + 1)) is not None:
            known += 1
        return known

    def read(self, number: int) -> bytes:
        """The bytes of entry `number`. Raises NotFound."""
        return self.store.read(self.path(number))

    def entries(self, first: int = 1) -> Iterator[tuple[int, bytes]]:
        """`(number, bytes)` from `first` on, rising."""
        numbers = {self.path(number): number for number in self.numbers() if number >= first}
        for path, data in self.store.read_many(numbers):
            yield numbers[path], data

    def create(self, number: int, data: bytes) -> bool:
        """Create entry `number`; True when it now holds exactly `data`, False when it holds somebody else's.

        Every doubtful answer is settled by reading back. Raises ProviderUnavailable when even that is impossible:
        then the outcome is unknown, and the caller must say so.
        """
        try:
            if self.store.create(self.path(number), data):
                return True
        except TychoraError as doubt:
            return self._settle(number, data, doubt)
        return self._settle(number, data, None)

    def _settle(self, number: int, data: bytes, doubt: TychoraError | None) -> bool:
        try:
            return self.read(number) == data
        except NotFound:
            if doubt is not None:
                raise doubt from None
            raise ProviderUnavailable(
                f"{self.path(number)} was refused as existing, and cannot be read",
                next_step="try again; if it persists, the store does not keep its promises: run tychora verify",
            ) from None
        except TychoraError as error:
            raise ProviderUnavailable(
                f"it is unknown whether {self.path(number)} was written: the store did not answer",
                next_step="look at tychora inspect WORKSPACE log, then run the same command again: that is safe",
            ) from error
