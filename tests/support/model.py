"""What copies of a workspace should hold, as plain dictionaries: what the state machine compares them with.

Nothing here reads a bundle. A *content* is what one snapshot holds: source id → row. What statements hide is left in
it, as in a manifest, and taken out when a copy is asked what it shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Content", "Copy", "Row", "Said", "World", "merged"]


@dataclass(frozen=True, slots=True)
class Row:
    """One state of a source: its path, and the SHA-256 of what it holds."""

    source: str
    revision: str
    content: str
    path: str

    @property
    def names(self) -> frozenset[str]:
        """What a statement may call it by."""
        return frozenset((self.source, self.revision, self.content))


Content = Mapping[str, Row]


@dataclass(frozen=True, slots=True)
class Said:
    """A statement: what it is about, and which ones it replaces."""

    kind: Literal["withdrawal", "restoration", "erasure"]
    names: frozenset[str]
    replaces: frozenset[str] = frozenset()


@dataclass(slots=True)
class World:
    """What is true of all copies: what each snapshot holds and which it continues, and every row that ever was."""

    contents: dict[str, Content] = field(default_factory=lambda: {"": {}})
    parents: dict[str, tuple[str, ...]] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """The snapshots as they were made: a choice by number means the same in every run."""

    def learn(self, snapshot_id: str, parents: tuple[str, ...], content: Content) -> None:
        if snapshot_id not in self.contents:
            self.order.append(snapshot_id)
            self.contents[snapshot_id] = dict(content)
            self.parents[snapshot_id] = parents

    def rows(self, snapshots: Iterable[str]) -> Iterator[Row]:
        """Each row that any of the snapshots holds, once, in the order in which they were made."""
        chosen = set(snapshots)
        every = (row for each in self.order if each in chosen for row in self.contents[each].values())
        return iter(dict.fromkeys(every))

    def ancestry(self, snapshot_ids: Iterable[str], present: Iterable[str]) -> set[str]:
        """The snapshots that are reached through those that are present, themselves included."""
        there, found = set(present), set[str]()
        waiting = [*snapshot_ids]
        while waiting:
            each = waiting.pop()
            if each in there and each not in found:
                found.add(each)
                waiting.extend(self.parents[each])
        return found


@dataclass(slots=True)
class Copy:
    """One copy: what it should have, and what it may have lost because somebody said so."""

    head: str = ""
    history: set[str] = field(default_factory=set)
    """Snapshots that are kept: each answers with what it held."""
    committed: set[str] = field(default_factory=set)
    """Snapshots that the log names."""
    added: set[Row] = field(default_factory=set)
    """Every row that was ever live here."""
    dropped: set[Row] = field(default_factory=set)
    """Rows of snapshots that a collection said it removed."""
    released: set[str] = field(default_factory=set)
    """Snapshots that a collection lists which was interrupted: each is there whole, or gone."""
    tags: dict[str, str] = field(default_factory=dict)
    said: dict[str, Said] = field(default_factory=dict)

    @property
    def erased(self) -> frozenset[str]:
        return frozenset().union(*(each.names for each in self.said.values() if each.kind == "erasure"))

    def standing(self, target: str) -> frozenset[str]:
        """The withdrawals and restorations of a target that none replaces."""
        about = {each: said for each, said in self.said.items() if said.kind != "erasure" and said.names == {target}}
        return frozenset(about.keys() - {past for said in about.values() for past in said.replaces})

    @property
    def withdrawn(self) -> frozenset[str]:
        targets = {name for said in self.said.values() if said.kind == "withdrawal" for name in said.names}
        return frozenset(
            each for each in targets if any(self.said[one].kind == "withdrawal" for one in self.standing(each))
        )

    def recorded(self, content: Content) -> dict[str, Row]:
        """What a snapshot states here: all but what is erased."""
        erased = self.erased
        return {source: row for source, row in content.items() if erased.isdisjoint(row.names)}

    def visible(self, content: Content) -> dict[str, Row]:
        """What a snapshot shows here."""
        withdrawn = self.withdrawn
        return {source: row for source, row in self.recorded(content).items() if withdrawn.isdisjoint(row.names)}


def merged(one: Content, other: Content, bases: list[Content], erased: frozenset[str]) -> dict[str, set[Row | None]]:
    """Per source, what a three-way merge may make of it; None where it may be absent.

    Where both sides changed a source either may win, but it does not vanish; where several bases disagree, either may.
    An erased row may stand in a snapshot or not, as it was taken out of some.
    """
    options: dict[str, set[Row | None]] = {}
    for source in sorted(one.keys() | other.keys()):
        sides = one.get(source), other.get(source)
        before = {base.get(source) for base in bases} or {None}
        options[source] = _choice(*sides, before)
        if any(row and not erased.isdisjoint(row.names) for row in (*sides, *before)):
            cleaned = [None if row is None or not erased.isdisjoint(row.names) else row for row in sides]
            options[source] |= _choice(cleaned[0], cleaned[1], before | {None})
    return options


def _choice(one: Row | None, other: Row | None, before: set[Row | None]) -> set[Row | None]:
    if one == other:
        return {one}
    if len(before) > 1:
        return {one, other}
    if one in before or other in before:
        return {other if one in before else one}
    return {one, other} - {None}
