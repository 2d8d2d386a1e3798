"""The trace of a run: what each stage saw, kept and cut, and how long it took. Kept only where it was asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Trace"]


class Trace:
    """Collects notes by stage, in the order in which the stages ran."""

    def __init__(self, wanted: bool) -> None:
        self.wanted = wanted
        self.stages: list[dict[str, Any]] = []
        self.cuts: list[dict[str, Any]] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Any]]:
        """Time a stage; what the block puts into the dict it is given is noted with it."""
        note: dict[str, Any] = {}
        started = time.perf_counter()
        try:
            yield note
        finally:
            took = (time.perf_counter() - started) * 1000
            self.stages.append({"stage": name, "milliseconds": round(took, 3), **note})

    def cut(self, reason: str, **what: Any) -> None:
        """Note something that was found and is not in the result."""
        if self.wanted:
            self.cuts.append({"reason": reason, **what})

    def as_dict(self) -> dict[str, Any] | None:
        """`{stages, cuts}`, or None where no trace was asked for."""
        return {"stages": self.stages, "cuts": self.cuts} if self.wanted else None
