"""Statements: live policy, withdrawals and erasures. They are apart from content and always read from the newest."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tychora_format.sealed import seal, unseal
from tychora_format.sequence import Sequence
from tychora_format.store import Store
from tychora_schemas.errors import Conflict, CorruptWorkspace
from tychora_schemas.identity import identity

__all__ = ["Statement", "Statements"]

StatementKind = Literal["policy", "withdrawal", "erasure"]


class Statement(BaseModel):
    """One statement; its `id` is over all but its number, so that two copies of a bundle can be united by id."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    kind: StatementKind
    time: str
    subject: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def make(cls, kind: StatementKind, subject: dict[str, Any], time: str) -> Statement:
        payload = {"kind": kind, "subject": subject, "time": time}
        return cls(id=identity("statement", payload), kind=kind, time=time, subject=subject)


class Statements:
    """The statements of one location, in the order in which they were made or received."""

    def __init__(self, store: Store) -> None:
        self.sequence = Sequence(store, "statements")

    def number(self) -> int:
        """The number of the newest statement, 0 before the first."""
        return self.sequence.newest()

    def all(self) -> list[Statement]:
        """Every statement. Raises CorruptWorkspace naming the file that is none."""
        return [self._decode(number, data) for number, data in self.sequence.entries()]

    def _decode(self, number: int, data: bytes) -> Statement:
        try:
            statement = Statement.model_validate(unseal(data, self.sequence.path(number)))
            again = Statement.make(statement.kind, statement.subject, statement.time)
            if again.id != statement.id:
                raise ValueError("its id does not match its content")
            return statement
        except (ValueError, ValidationError) as error:
            raise CorruptWorkspace(
                f"{self.sequence.path(number)} is no valid statement: {str(error).splitlines()[0]}",
                next_step="restore the file from another copy of the bundle: without it policy cannot be applied",
            ) from error

    def add(self, statement: Statement) -> int:
        """Append `statement` and return its number; a statement that is there already is not added again."""
        data = seal(statement.model_dump(mode="json"))
        for _ in range(200):
            known = {each.id: number for number, each in enumerate(self.all(), start=1)}
            if statement.id in known:
                return known[statement.id]
            if self.sequence.create(number := self.number() + 1, data):
                return number
        raise Conflict("other writers kept adding statements", next_step="try again")
