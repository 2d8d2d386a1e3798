"""What a run of the command line gives back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Ran", "Run"]


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: bytes
    err: str


Run = Callable[..., Ran]
