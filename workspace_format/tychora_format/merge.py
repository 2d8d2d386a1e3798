"""Merging two snapshots that have diverged: a pure function of what they and their common ancestors state.

SPEC.md section 5 is the normative description. Nothing is written here: the merged manifest becomes a snapshot when
somebody commits it. Two machines that merge the same pair make the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tychora_format.batch import Batch
from tychora_format.manifest import BatchEntry, Manifest, Ranges
from tychora_format.snapshot import Snapshot, content_root
from tychora_schemas.errors import Conflict, CorruptWorkspace
from tychora_schemas.transport import MergeConflict

__all__ = ["Merged", "Relation", "best_common_ancestors", "merge", "relation"]

Relation = Literal["equal", "behind", "ahead", "diverged"]

Numbers = npt.NDArray[np.int64]

ABSENT = -1
"""The row of a source that a snapshot does not have; its place and its state are −1, too."""

IDENTITY = ("path", "state", "revision_id", "extraction_id", "leaf")
"""What makes two rows of a source the same state of it. Of erased rows only the leaf is left."""

COMPARED = ["source_id", "collection", "root", "content_sha256", *IDENTITY]

PREFERRED = ("indexed", "held", "quarantined")
"""States in the order in which they win a conflict: what readers find goes before what they do not."""


@dataclass(frozen=True, slots=True)
class Merged:
    """The manifest that continues both snapshots, and what both sides had changed, by path."""

    manifest: Manifest
    conflicts: tuple[MergeConflict, ...]


def relation(one: str, other: str, manifests: Mapping[str, Manifest]) -> Relation:
    """How the snapshot `one` stands to `other`: `behind` when it is an ancestor of it, `ahead` when a descendant.

    `manifests` are all that is known of both histories. The state before the first commit has the id "" and is
    behind everything.
    """
    if one == other:
        return "equal"
    if not one or one in _ancestry(other, manifests):
        return "behind"
    return "ahead" if not other or other in _ancestry(one, manifests) else "diverged"


def best_common_ancestors(one: str, other: str, manifests: Mapping[str, Manifest]) -> list[str]:
    """The common ancestors that no other common ancestor descends from, sorted. A snapshot is its own ancestor.

    Histories may be shallow: a parent whose manifest is not among `manifests` counts by its id, and has no parents.
    """
    common = _ancestry(one, manifests) & _ancestry(other, manifests)
    # Every ancestor of a common ancestor is one too: those that are surpassed are exactly the parents.
    surpassed = {parent for each in common & manifests.keys() for parent in manifests[each].parents}
    return sorted(common - surpassed)


def _ancestry(snapshot_id: str, manifests: Mapping[str, Manifest]) -> set[str]:
    """The snapshot itself and all its ancestors, as far as they are known."""
    found = {snapshot_id} if snapshot_id else set()
    waiting = [*found]
    while waiting:
        manifest = manifests.get(waiting.pop())
        fresh = set(manifest.parents) - found if manifest else set()
        found |= fresh
        waiting += fresh
    return found


def merge(one: Snapshot, other: Snapshot, bases: Sequence[Snapshot]) -> Merged:
    """Unite two snapshots whose best common ancestors are `bases`; `merge(one, other)` equals `merge(other, one)`.

    What one side alone changed, added or removed since they parted is so in the result. What both changed differently
    is listed as a conflict, and so are two sources that come to have one path; nothing of either is lost. Where one
    side is an ancestor of the other, the result is the other as it is.

    Raises Conflict when two batches have the same tag by chance, and CorruptWorkspace when the snapshots contradict
    themselves or each other.
    """
    ancestors = {base.id for base in bases}
    if one.id == other.id or other.id in ancestors or not other.id:
        return Merged(one.manifest, ())
    if one.id in ancestors or not one.id:
        return Merged(other.manifest, ())
    earlier, later = sorted((one, other), key=lambda each: (each.manifest.when, each.id))
    rows = _Rows([earlier, later, *bases])
    chosen, disputed = _choose(rows)
    live = chosen[chosen != ABSENT]
    entries, dead = _batches(rows, live)
    manifest = Manifest(
        format=max(earlier.manifest.format, later.manifest.format),
        features=tuple(sorted({*earlier.manifest.features, *later.manifest.features})),
        parents=tuple(sorted((one.id, other.id))),
        time=later.manifest.time,
        content_root=content_root(rows.table.take(pa.array(live))),
        batches=entries,
        dead=dead,
    )
    found = [*_disputes(rows, chosen, disputed), *_shared_paths(rows, live)]
    return Merged(manifest, tuple(sorted(found, key=lambda each: (each.path, each.source_id, each.note))))


class _Rows:
    """The live rows of several snapshots below each other, with numbers for all that is compared.

    The first two are the sides, the others their common ancestors. Index `ABSENT` of each array of numbers stands for
    the missing row.
    """

    def __init__(self, snapshots: Sequence[Snapshot]) -> None:
        self.erased = frozenset().union(*(snapshot.statements.erased for snapshot in snapshots))
        self.batches: dict[str, Batch] = {}
        """The batches of the two sides, in order of their ids."""
        self.entries: dict[str, BatchEntry] = {}
        for snapshot in snapshots[:2]:
            for batch, entry in zip(snapshot.batches, snapshot.manifest.batches, strict=True):
                if self.entries.setdefault(entry.id, entry) != entry:
                    raise CorruptWorkspace(
                        f"two snapshots describe {entry.id} differently", next_step="run tychora verify on both copies"
                    )
                self.batches[entry.id] = batch
        self.batches = dict(sorted(self.batches.items()))
        gone = {batch.id for base in snapshots[2:] for batch in base.batches} - self.batches.keys()
        ordinals = {batch_id: ordinal for ordinal, batch_id in enumerate([*self.batches, *gone])}
        self.table = pa.concat_tables([snapshot.recorded.select(COMPARED) for snapshot in snapshots]).combine_chunks()
        self.source, self.sources = _numbered(self.table, ["source_id"])
        self.state = np.append(_numbered(self.table, IDENTITY)[0], ABSENT)
        places = [_places(snapshot, ordinals) for snapshot in snapshots]
        self.place = np.append(np.concatenate(places), ABSENT)
        """Where a row stands. The places of the two sides are ordered as (batch id, row number)."""
        ends = np.cumsum([len(each) for each in places])
        self.earlier, self.later, *self.bases = (
            self._by_source(int(end) - len(each), int(end)) for each, end in zip(places, ends, strict=True)
        )

    def _by_source(self, first: int, end: int) -> Numbers:
        """Per source, its row in the snapshot whose rows are `first` to `end`."""
        rows = np.full(self.sources, ABSENT, np.int64)
        rows[self.source[first:end]] = np.arange(first, end)
        if np.count_nonzero(rows != ABSENT) != end - first:
            raise CorruptWorkspace("a source is live twice in one snapshot", next_step="run tychora verify")
        return rows

    def listed(self, numbers: Numbers) -> list[dict[str, Any]]:
        """Rows by their column names; the missing row has no values."""
        rows: list[dict[str, Any]] = self.table.take(pa.array(numbers, mask=numbers == ABSENT)).to_pylist()
        return rows


def _numbered(table: pa.Table, names: Sequence[str]) -> tuple[Numbers, int]:
    """A number per row, the same for rows that are equal in the columns `names`; and how many numbers there are."""
    numbers, count = np.zeros(table.num_rows, np.int64), 1
    for name in names:
        values = pc.dictionary_encode(table.column(name).combine_chunks(), null_encoding="encode")
        pairs = numbers * len(values.dictionary) + values.indices.to_numpy()
        distinct, numbers = np.unique(pairs, return_inverse=True)
        count = len(distinct)
    return numbers.astype(np.int64), count if table.num_rows else 0


def _places(snapshot: Snapshot, ordinals: Mapping[str, int]) -> Numbers:
    """Where each live row stands, as one number: its batch's ordinal, then its own number there."""
    batches = np.array([ordinals[batch.id] for batch in snapshot.batches], np.int64)
    places: Numbers = np.left_shift(batches[snapshot.recorded.column("batch").to_numpy()], 32)
    places += snapshot.recorded.column("number").to_numpy()
    return places


def _choose(rows: _Rows) -> tuple[Numbers, npt.NDArray[np.bool_]]:
    """Per source, the row that is live in the merged snapshot (or `ABSENT`), and whether both sides changed it."""
    # Without a common ancestor everything is new since the empty state: so no removal is inferred.
    bases = rows.bases or [np.full(rows.sources, ABSENT, np.int64)]
    places = np.concatenate([rows.place[base[base != ABSENT]] for base in bases])
    earlier, later = rows.earlier, rows.later
    stays = [np.isin(rows.place[side], places) for side in (earlier, later)]
    old = [
        stay | np.all([rows.state[base] == rows.state[side] for base in bases], axis=0)
        for side, stay in zip((earlier, later), stays, strict=True)
    ]
    equal = rows.state[earlier] == rows.state[later]
    # Of equal rows the one that moved to another batch is taken: else a merge would undo a compaction.
    lower = np.where(rows.place[later] < rows.place[earlier], later, earlier)
    same = np.select([stays[0] & ~stays[1], stays[1] & ~stays[0]], [later, earlier], lower)
    disputed = ~equal & (old[0] == old[1])
    rank = np.append(_ranks(rows.table, rows.erased), len(PREFERRED) + 1)
    preferred = np.where(rank[later] <= rank[earlier], later, earlier)
    return np.select([equal, disputed, old[0]], [same, preferred, later], earlier), disputed


def _ranks(table: pa.Table, erased: frozenset[str]) -> Numbers:
    """Per row, how much its state is preferred, 0 the most. What is erased goes behind all that is there."""
    found = pc.index_in(table.column("state").combine_chunks(), pa.array(PREFERRED))
    ranks: Numbers = pc.fill_null(found, len(PREFERRED)).to_numpy().astype(np.int64)
    gone = pa.array(sorted(erased), pa.string())
    for name in ("source_id", "revision_id", "content_sha256") if erased else ():
        ranks[pc.is_in(table.column(name), gone).to_numpy()] = len(PREFERRED)
    return ranks


def _batches(rows: _Rows, live: Numbers) -> tuple[tuple[BatchEntry, ...], dict[str, Ranges]]:
    """The batches that the rows `live` need, by id, and the dead rows of each."""
    places = np.sort(rows.place[live])
    ordinals = places >> 32
    needed = {*np.unique(ordinals).tolist(), *_holders(rows, live, ordinals)}
    entries, dead = [], {}
    for ordinal, batch_id in enumerate(rows.batches):
        if ordinal not in needed:
            continue
        entry = rows.entries[batch_id]
        first, end = np.searchsorted(ordinals, [ordinal, ordinal + 1])
        entries.append(entry)
        if gaps := _gaps(places[first:end] & 0xFFFFFFFF, entry.sources):
            dead[batch_id] = gaps
    tags = [entry.tag for entry in entries if entry.rows]
    if len(set(tags)) != len(tags):
        raise Conflict(
            "two batches have the same tag by chance, so that one index cannot tell their rows apart",
            next_step="compact one of the two copies (tychora manage WORKSPACE compact) and sync again",
        )
    return tuple(entries), dead


def _holders(rows: _Rows, live: Numbers, ordinals: Numbers) -> set[int]:
    """The batches without a live source that hold what live sources name and the batches `ordinals` do not.

    In order of their ids, each is needed if it holds an extraction that none before it holds.
    """
    held = [batch.extractions.column("extraction_id") for batch in rows.batches.values()]
    ids = pa.chunked_array([chunk for column in held for chunk in column.chunks], pa.string()).combine_chunks()
    holder = np.repeat(np.arange(len(held)), [len(column) for column in held])
    wanted = pc.is_in(ids, rows.table.column("extraction_id").take(pa.array(live)).combine_chunks().drop_null())
    holder = holder[wanted.to_numpy(zero_copy_only=False)]
    extraction = pc.dictionary_encode(ids.filter(wanted)).indices.to_numpy()
    with_source = np.isin(holder, ordinals)
    lacking = ~np.isin(extraction, extraction[with_source])
    first = np.unique(extraction[lacking], return_index=True)[1]
    return set(holder[lacking][first].tolist())


def _gaps(numbers: Numbers, count: int) -> Ranges:
    """What the sorted `numbers` leave out of `range(count)`, as half-open ranges."""
    starts, ends = np.append(0, numbers + 1), np.append(numbers, count)
    wide = ends > starts
    return tuple(zip(starts[wide].tolist(), ends[wide].tolist(), strict=True))


def _disputes(rows: _Rows, chosen: Numbers, disputed: npt.NDArray[np.bool_]) -> Iterator[MergeConflict]:
    rejected = np.where(chosen == rows.earlier, rows.later, rows.earlier)
    for kept, other in zip(rows.listed(chosen[disputed]), rows.listed(rejected[disputed]), strict=True):
        if other["source_id"] is None:
            note = "removed in one copy, changed in the other: it stays"
        elif kept["state"] != other["state"]:
            note = f"changed in both copies: the {kept['state']} state is current, the {other['state']} one is kept"
        else:
            note = "changed in both copies: the state of the later snapshot is current, the other one is kept"
        yield MergeConflict(
            path=kept["path"],
            source_id=kept["source_id"],
            note=note,
            kept_revision=kept["revision_id"],
            other_revision=other["revision_id"],
        )


def _shared_paths(rows: _Rows, live: Numbers) -> Iterator[MergeConflict]:
    """A conflict for every source that has the path of another, where no side had both of them there."""
    numbered, count = _numbered(rows.table, ("collection", "root", "path"))
    path = np.append(numbered, ABSENT)
    standing = live[rows.table.column("leaf").is_null().to_numpy()[live]]
    crowded = np.bincount(path[standing], minlength=count) > 1
    groups: dict[int, list[int]] = {}
    for number in standing[crowded[path[standing]]].tolist():
        groups.setdefault(int(path[number]), []).append(number)
    for shared, numbers in groups.items():
        sources = rows.source[numbers]
        if any((path[side[sources]] == shared).all() for side in (rows.earlier, rows.later)):
            continue
        first, *others = sorted(rows.listed(np.array(numbers)), key=lambda row: str(row["source_id"]))
        for other in others:
            yield MergeConflict(
                path=first["path"],
                source_id=first["source_id"],
                note=f"two sources have this path now, this one and {other['source_id']}: both are kept",
                kept_revision=first["revision_id"],
                other_revision=other["revision_id"],
            )
