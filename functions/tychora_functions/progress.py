"""How far a run has come, as it tells whoever watches it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

__all__ = ["Progress", "Stage", "Watcher"]

Stage = Literal["looking", "reading", "indexing", "moving", "committing"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` files (0 while nobody knows) and `bytes_done` bytes of them, in one stage of a run."""

    stage: Stage
    done: int = 0
    total: int = 0
    bytes_done: int = 0
    current: str | None = None
    """The path being worked on."""
    bytes_total: int = 0
    """How many bytes there will be; 0 while nobody knows."""


Watcher = Callable[[Progress], None]
"""Who is told of it."""
