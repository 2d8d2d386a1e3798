"""Erasure: batches are written anew without what statements erase, and stand for the old ones in every snapshot.

Manifests are never rewritten. A replacement keeps the numbers of the source rows and the Merkle roots of the
extractions, so that what was not erased is answered, cited and proven as before. SPEC.md is the normative description.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path, PurePosixPath

from tychora_format.batch import Batch, Parsed, write_batch
from tychora_format.batch_writer import LEXICAL_FOLDER, first_readers
from tychora_format.cache import Cache
from tychora_format.extraction import STAGED, Extraction, ExtractionHeader
from tychora_format.lexical_view import discard
from tychora_format.manifest import BatchEntry
from tychora_format.snapshot import content_leaf
from tychora_format.staging import Staged, stage_batch
from tychora_format.statements import InForce, Statement
from tychora_format.tables import ExtractionRow, SourceRow
from tychora_format.vector_copy import Stretch, VectorCopy
from tychora_format.workspace import Workspace, utc_now

__all__ = [
    "NAMELESS",
    "Replacement",
    "complete_erasures",
    "entailed",
    "erase_from_batches",
    "erasure_statement",
    "every_batch",
    "forget",
    "replacement_for",
    "replacement_statement",
]


UNIQUE = 32
"""Characters from which on the name of a batch's file is taken for one that no other batch has."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """The batch that manifests know as `batch`: what it consisted of, and what it consists of now."""

    batch: str
    before: BatchEntry
    after: BatchEntry


def every_batch(workspace: Workspace) -> list[Batch]:
    """Every batch that a snapshot here lists, by id, as it is under the statements in force."""
    statements = workspace.statements.in_force()
    named = {entry.id: entry for each in workspace.snapshot_ids() for entry in workspace.manifest(each).batches}
    return [
        Batch(statements.replaced.get(batch_id, entry), workspace.store, workspace.cache, batch_id)
        for batch_id, entry in sorted(named.items())
    ]


def entailed(batches: Iterable[Batch], erased: frozenset[str]) -> frozenset[str]:
    """`erased` and what goes with it.

    With a source go all its revisions, and with a source or a revision the content that no other one ever had.
    """
    rows: set[tuple[str | None, ...]] = set()
    for batch in batches:
        columns = (batch.sources.column(name).to_pylist() for name in ("source_id", "revision_id", "content_sha256"))
        rows.update(zip(*columns, strict=True))
    gone = {row for row in rows if not erased.isdisjoint(row)}
    retained = {content for _, _, content in rows - gone}
    revisions = {revision for source, revision, _ in gone if source in erased and revision}
    return erased | revisions | {content for _, _, content in gone if content and content not in retained}


def erasure_statement(names: frozenset[str], reason: str, time: str) -> Statement:
    """The statement that erases sources, revisions (by id) and contents (by SHA-256)."""
    of_kind = {kind: sorted(each for each in names if each.startswith(kind)) for kind in ("source_", "revision_")}
    contents = sorted(names.difference(*of_kind.values()))
    subject = {"sources": of_kind["source_"], "revisions": of_kind["revision_"], "contents": contents}
    return Statement.make("erasure", {**subject, "reason": reason}, time)


def complete_erasures(workspace: Workspace) -> None:
    """Erase also what came to erased sources after the statement about them was made.

    A rival may have published a new revision meanwhile, or another copy of the bundle may have had one.
    """
    erased = workspace.statements.in_force().erased
    late = entailed(every_batch(workspace), erased) - erased if erased else frozenset()
    if late:
        workspace.statements.add(erasure_statement(late, "it came to what is erased", utc_now()))


def erase_from_batches(
    workspace: Workspace, progress: Callable[[int, int, str], None] | None = None
) -> list[Replacement]:
    """Replace every batch here that holds something erased by one without it.

    The old batches' files are unreachable from then on, and so are the originals that only erased rows name: a
    collection removes them. What this machine's cache derived from the old batches goes at once. `progress` is told
    batches done, batches in all, and the id of the next. Safe to repeat and to interrupt. Raises CorruptWorkspace when
    a batch cannot be read, and Collected when a rival's collection took away a new one before it was in force.
    """
    complete_erasures(workspace)
    statements = workspace.statements.in_force()
    if not statements.erased:
        return []
    batches = every_batch(workspace)
    tell = progress or (lambda done, total, name: None)
    made = []
    for done, batch in enumerate(batches):
        tell(done, len(batches), batch.id)
        after = _replaced(workspace, batch, statements)
        if after is not None:
            made.append(Replacement(batch.id, batch.entry, after))
            forget(workspace.cache, batch)
    return made


def _replaced(workspace: Workspace, batch: Batch, statements: InForce) -> BatchEntry | None:
    """Write the replacement of a batch, upload it and state it; None where nothing of the batch is erased."""
    staged = Staged(workspace)
    entry = stage_batch(workspace, (), lambda directory, salt: replacement_for(batch, statements, directory, salt=salt))
    if entry is None:
        return None
    files = {file.path: file.size for file in entry.files}
    staged.require(workspace.log.head(), files)
    workspace.statements.add(replacement_statement(workspace.statements.all(), batch.id, entry, statements))
    staged.require(workspace.log.head(), files)
    return entry


def replacement_statement(
    known: Sequence[Statement], batch_id: str, entry: BatchEntry, statements: InForce
) -> Statement:
    """Says that `entry` stands for the batch of this id, without what `statements` erase.

    It is dated after all that is known about the batch: of those since the same erasures the latest counts.
    """
    subject = {
        "batch": batch_id,
        "entry": entry.model_dump(mode="json"),
        "erasures": sorted(each.id for each in statements.erasures),
    }
    before = [each.time for each in known if each.kind == "replacement" and each.subject.get("batch") == batch_id]
    now = utc_now()
    if before:
        after = datetime.fromisoformat(max(before)) + timedelta(milliseconds=1)
        now = max(now, after.isoformat(timespec="milliseconds"))
    return Statement.make("replacement", subject, now)


def replacement_for(batch: Batch, statements: InForce, directory: Path, *, salt: int = 0) -> BatchEntry | None:
    """Write below `directory` (empty) the batch without what is erased; None when nothing of that is in it.

    An erased source row becomes a tombstone: its ids and its leaf in the content root are left, under its number. An
    extraction of an erased content keeps its ids and its Merkle root, and nothing that was read from the original.
    Vectors are copied. The tag stays, as the new batch stands where the old one stood in every manifest; another
    `salt` than 0 gives another tag, and so another id.
    """
    rows = [SourceRow(**values) for values in batch.sources.to_pylist()]
    leaves = {number: leaf for number, leaf in enumerate(batch.erased_leaves.to_pylist()) if leaf is not None}
    fresh = [number for number, row in enumerate(rows) if number not in leaves and statements.erases(row)]
    kept: list[int] = []
    emptied: dict[int, ExtractionRow] = {}
    for ordinal in range(batch.extractions.num_rows):
        extraction = batch.extraction(ordinal)
        if extraction.content_sha256 in statements.erased:
            emptied[ordinal] = extraction
        else:
            kept.append(ordinal)
    if not fresh and not any(map(_tells, emptied.values())):
        return None
    names = {PurePosixPath(path).stem for number in fresh for path in (rows[number].path, *rows[number].paths)}
    for number in fresh:
        leaves[number] = _leaf(rows[number])
        rows[number] = _tombstone(rows[number])
    readers = first_readers(rows)

    def parsed() -> Iterator[Parsed]:
        reading = batch.reopened()
        for ordinal in range(batch.extractions.num_rows):
            gone = emptied.get(ordinal)
            extraction = _without_text(gone) if gone else _unnamed(reading.parsed_again(ordinal), names)
            yield Parsed(extraction, readers.get(extraction.header.extraction_id, NAMELESS))

    held = [extraction for ordinal in kept if (extraction := batch.extraction(ordinal)).rows]
    stretches = [Stretch(batch, extraction.first_row, extraction.rows) for extraction in held]
    vectors = {family: VectorCopy(family, stretches) for family in batch.entry.families if stretches}
    return write_batch(
        directory, parsed(), rows, vectors, erased=leaves, salt=salt, tag=None if salt else batch.entry.tag
    )


NAMELESS = SourceRow("", "", "", [], "", None, None, 0, "quarantined", None, None, "", None)
"""A source of which nothing is known: what an erased row is apart from its ids."""


def _tombstone(row: SourceRow) -> SourceRow:
    return replace(NAMELESS, source_id=row.source_id, revision_id=row.revision_id, content_sha256=row.content_sha256)


def _leaf(row: SourceRow) -> bytes:
    return content_leaf(row.source_id, row.path, row.state, row.revision_id, row.extraction_id)


def _tells(extraction: ExtractionRow) -> bool:
    """True while something that was read from the original is left."""
    return bool(extraction.rows or extraction.units or extraction.title or extraction.warnings or extraction.language)


def _unnamed(extraction: Extraction, names: Collection[str]) -> Extraction:
    """The extraction without a title that is a file's name: of an erased source, where another one has its bytes."""
    if extraction.header.title not in names:
        return extraction
    return Extraction(replace(extraction.header, title=None), extraction.chunks)


def _without_text(row: ExtractionRow) -> Extraction:
    header = ExtractionHeader(
        content_sha256=row.content_sha256,
        fingerprint=row.fingerprint,
        parser=row.parser,
        kind=row.kind,
        language=None,
        title=None,
        merkle_root=row.merkle_root,
    )
    return Extraction(header, STAGED.empty_table())


def forget(cache: Cache, batch: Batch) -> None:
    """Remove what this machine's cache has of a batch: downloads, views of the lexical index, matrices of vectors."""
    for family in batch.entry.families:
        with suppress(OSError):
            batch.matrix_path(family).unlink()
    hashes = {file.sha256 for file in batch.entry.files}
    # What is kept as a folder is told by the files that only it has: Lance and the index name theirs uniquely.
    folders = [*batch.entry.folder(LEXICAL_FOLDER), *batch.entry.folder("vectors")]
    names = {Path(file.path).name for file in folders if len(Path(file.path).stem) >= UNIQUE}
    for kept in ("views", "downloads"):
        with suppress(OSError):
            for place in (cache.directory / kept).iterdir():
                if place.name in hashes or not names.isdisjoint(each.name for each in place.rglob("*")):
                    discard(place)
