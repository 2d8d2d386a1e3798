"""Statements: live policy, withdrawals and erasures. They are apart from content and always read from the newest.

They form a set: two copies of a bundle are united by uniting their statements, in any order, with the same outcome.
SPEC.md section 6 is the normative description.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tychora_format.manifest import BatchEntry, Moment
from tychora_format.sealed import seal, unseal
from tychora_format.sequence import Sequence
from tychora_format.store import Store
from tychora_format.tables import SourceRow
from tychora_schemas.errors import Conflict, CorruptWorkspace
from tychora_schemas.identity import identity

__all__ = ["InForce", "Statement", "StatementKind", "Statements", "precedence"]

StatementKind = Literal["policy", "withdrawal", "erasure", "replacement"]

REVERSIBLE = ("policy", "withdrawal")
"""Kinds that a later statement may replace. What is erased stays erased, whatever anybody says."""

ATTEMPTS = 200


class Statement(BaseModel):
    """One statement; its `id` is over all but its number, so that two copies of a bundle can be united by id."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: str
    kind: StatementKind
    time: Moment
    subject: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def make(cls, kind: StatementKind, subject: dict[str, Any], time: str) -> Statement:
        """A statement about `subject`, made at `time`."""
        payload = {"kind": kind, "subject": subject, "time": time}
        return cls(id=identity("statement", payload), kind=kind, time=time, subject=subject)

    def encode(self) -> bytes:
        """The statement's bytes, sealed."""
        return seal(self.model_dump(mode="json"))

    @classmethod
    def decode(cls, data: bytes, path: str) -> Statement:
        """Read a statement. Raises CorruptWorkspace naming `path` when it is none, or not as it was made."""
        try:
            statement = cls.model_validate(unseal(data, path))
            if cls.make(statement.kind, statement.subject, statement.time).id != statement.id:
                raise ValueError("its id does not match its content")
            _Subject.model_validate(statement.subject)
            return statement
        except (ValueError, ValidationError) as error:
            raise CorruptWorkspace(
                f"{path} is no valid statement: {str(error).splitlines()[0]}",
                next_step="restore the file from another copy of the bundle: without it policy cannot be applied",
            ) from error


class _Subject(BaseModel):
    """The members of a subject that reading depends on, whatever else a statement says."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    replaces: tuple[str, ...] = ()
    target: str = ""
    withdrawn: bool = True
    sources: tuple[str, ...] = ()
    revisions: tuple[str, ...] = ()
    contents: tuple[str, ...] = ()
    batch: str = ""
    entry: BatchEntry | None = None
    erasures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class InForce:
    """What a set of statements amounts to."""

    number: int = 0
    """The number of the newest statement read."""
    withdrawn: frozenset[str] = frozenset()
    """Ids of sources and revisions, and SHA-256 of contents, that are hidden until a restoration."""
    erased: frozenset[str] = frozenset()
    """Ids of sources and revisions, and SHA-256 of contents, that are gone for ever."""
    replaced: Mapping[str, BatchEntry] = field(default_factory=dict)
    """Batch id in manifests → the batch that stands for it since something was erased from it."""
    erasures: tuple[Statement, ...] = ()
    policies: tuple[Statement, ...] = ()
    withdrawals: tuple[Statement, ...] = ()

    def hides(self, row: SourceRow) -> bool:
        """True when no reader may see this source row."""
        return self.erases(row) or not self.withdrawn.isdisjoint(_names(row))

    def erases(self, row: SourceRow) -> bool:
        """True when this source row is erased."""
        return not self.erased.isdisjoint(_names(row))


def _names(row: SourceRow) -> tuple[str | None, ...]:
    """What a statement may call a source row by."""
    return row.source_id, row.revision_id, row.content_sha256


def in_force(statements: Iterable[Statement], number: int) -> InForce:
    """What the statements amount to; their order does not matter."""
    every = {statement.id: statement for statement in statements}
    subjects = {each: _Subject.model_validate(statement.subject) for each, statement in every.items()}
    past = {
        replaced
        for each, subject in subjects.items()
        for replaced in subject.replaces
        if replaced in every and every[replaced].kind == every[each].kind and every[each].kind in REVERSIBLE
    }
    standing = sorted((s for s in every.values() if s.id not in past), key=lambda s: (s.time, s.id))
    of_kind = {kind: [s for s in standing if s.kind == kind] for kind in ("policy", "withdrawal", "erasure")}
    withdrawals = [s for s in of_kind["withdrawal"] if subjects[s.id].withdrawn]
    erased = [subjects[s.id] for s in of_kind["erasure"]]
    replaced: dict[str, BatchEntry] = {}
    # One total order, so that the choice of a union is the choice of one of its parts, whose files are there.
    for statement in sorted((s for s in standing if s.kind == "replacement"), key=precedence):
        if (entry := subjects[statement.id].entry) is not None:
            replaced[subjects[statement.id].batch] = entry
    return InForce(
        number=number,
        withdrawn=frozenset(subjects[s.id].target for s in withdrawals),
        erased=frozenset(each for s in erased for each in (*s.sources, *s.revisions, *s.contents)),
        replaced=replaced,
        erasures=tuple(of_kind["erasure"]),
        policies=tuple(of_kind["policy"]),
        withdrawals=tuple(withdrawals),
    )


def precedence(replacement: Statement) -> tuple[int, str, str]:
    """The order of replacements of one batch: of several the last one stands for it."""
    subject = _Subject.model_validate(replacement.subject)
    return len(set(subject.erasures)), replacement.time, subject.entry.id if subject.entry else ""


class Statements:
    """The statements of one location, in the order in which they were made or received."""

    def __init__(self, store: Store) -> None:
        self.sequence = Sequence(store, "statements")
        self._known: dict[int, Statement] = {}
        self._in_force = InForce()
        self._reading = threading.Lock()

    def number(self) -> int:
        """The number of the newest statement, 0 before the first."""
        return self.sequence.newest(self._in_force.number)

    def all(self) -> list[Statement]:
        """Every statement. Raises CorruptWorkspace naming the file that is none."""
        with self._reading:
            return self._all()

    def _all(self) -> list[Statement]:
        numbers = self.sequence.numbers()
        unread = {self.sequence.path(number): number for number in numbers if number not in self._known}
        for path, data in self.sequence.store.read_many(unread):
            self._known[unread[path]] = Statement.decode(data, path)
        return [self._known[number] for number in numbers]

    def in_force(self) -> InForce:
        """What all statements amount to at this moment. Costs one look where there are no new ones."""
        with self._reading:
            if self.sequence.newest(self._in_force.number) != self._in_force.number:
                statements = self._all()
                self._in_force = in_force(statements, max(self._known, default=0))
            return self._in_force

    def add(self, statement: Statement) -> int:
        """Append `statement` and return its number; a statement that is there already is not added again."""
        data = statement.encode()
        for _ in range(ATTEMPTS):
            self.all()
            for number, known in self._known.items():
                if known.id == statement.id:
                    return number
            if self.sequence.create(number := max(self._known, default=0) + 1, data):
                return number
        raise Conflict("other writers kept adding statements", next_step="try again")
