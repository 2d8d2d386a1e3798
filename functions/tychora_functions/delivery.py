"""Delivery: an answer leaves only if what was in force when it was made is still in force.

A withdrawal or an erasure holds from the moment in which its statement is there, also for questions on their way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tychora_format.workspace import Workspace
from tychora_schemas.errors import Busy, TychoraError

__all__ = ["delivered"]

Answer = TypeVar("Answer")

ATTEMPTS = 20


def delivered(workspace: Workspace, answer: Callable[[], Answer]) -> Answer:
    """What `answer()` returns, made again whenever a statement was made meanwhile.

    So is a failure: a collection removes files of batches that a statement has replaced. Raises Busy where statements
    keep coming.
    """
    for _ in range(ATTEMPTS):
        number = workspace.statements.in_force().number
        try:
            answered = answer()
        except TychoraError:
            if workspace.statements.number() == number:
                raise
            continue
        if workspace.statements.number() == number:
            return answered
    raise Busy("statements about this workspace keep being made", next_step="ask again")
