"""Batches on their way from a copy that does not know what was erased: they arrive without it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from tychora_format.batch import Batch
from tychora_format.erasure import replacement_for, replacement_statement
from tychora_format.manifest import BatchEntry, FileEntry
from tychora_format.staging import stage_batch
from tychora_format.statements import Statement
from tychora_format.workspace import Workspace
from tychora_functions.copies.difference import Difference

__all__ = ["write_clean"]


def write_clean(destination: Workspace, difference: Difference) -> tuple[list[Statement], list[FileEntry]]:
    """Write the source's batches that hold what is erased to the destination, without it; their files never get there.

    Returns the statements to be made about them once everything is there, and the files of those that turned out to
    hold nothing of it: to be moved as they are, and stated anew where something that is nowhere would stand for them.
    What the commit relies on is added to the difference.
    """
    known = [*destination.statements.all(), *difference.statements]
    statements: list[Statement] = []
    files: list[FileEntry] = []
    taken = {entry.tag for manifest in difference.history.values() for entry in manifest.batches}
    for batch in difference.unclean:
        entry = stage_batch(destination, taken - {batch.entry.tag}, partial(_cleaned, batch, difference))
        difference.relied |= {file.path: file.size for file in (entry or batch.entry).files}
        if entry is None:
            files += [file for file in batch.entry.files if destination.store.size(file.path) != file.size]
            if batch.id in difference.outdated:
                statements.append(replacement_statement(known, batch.id, batch.entry, difference.in_force))
            continue
        taken.add(entry.tag)
        statements.append(replacement_statement(known, batch.id, entry, difference.in_force))
    return statements, files


def _cleaned(batch: Batch, difference: Difference, directory: Path, salt: int) -> BatchEntry | None:
    return replacement_for(batch, difference.in_force, directory, salt=salt)
