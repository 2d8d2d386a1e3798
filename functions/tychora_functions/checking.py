"""Checks a citation against the retained original: its bytes by their hash, the quote and the place it names."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow.compute as pc

from tychora_format.batch import Batch
from tychora_format.erasure import every_batch
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.delivery import delivered
from tychora_functions.reading import blanks_joined, read_place, says
from tychora_schemas.errors import InvalidRequest, NotFound, TychoraError
from tychora_schemas.locator import Locator
from tychora_schemas.receipts import CitationCheck
from tychora_schemas.result import Citation

__all__ = ["verify_citation"]

HASH = re.compile(r"[0-9a-f]{64}")
SHOWN = 40
"""Characters shown on either side of the place where quote and original part."""


def verify_citation(workspace: Workspace, citation: Citation) -> CitationCheck:
    """Whether the quote stands in the original where the citation says.

    A quote with `bytes` must be exactly those bytes, decoded, and stand on the lines that it names; any other is read
    at its place by the parser of its format and compared with its blanks joined. A citation that names a revision of
    this bundle must also name its content and one of its paths. Raises CorruptWorkspace when the original is damaged.
    """
    if not HASH.fullmatch(citation.content_sha256):
        raise InvalidRequest("content_sha256 is no SHA-256", next_step="give its 64 lower-case hexadecimal digits")
    return delivered(workspace, lambda: _verify_citation(workspace, citation))


def _verify_citation(workspace: Workspace, citation: Citation) -> CitationCheck:
    if hidden := _hidden(workspace, citation):
        return CitationCheck(holds=False, reason=hidden)
    try:
        data = workspace.objects.get(citation.content_sha256)
    except NotFound as error:
        return CitationCheck(holds=False, reason=error.message)
    revisions, parser = _recorded(workspace, citation)
    if revisions and (contradiction := _contradiction(citation, revisions)):
        return CitationCheck(holds=False, reason=contradiction)
    try:
        found = read_place(data, citation.locator, parser or _format(data, citation.source_path))
        misplaced = _wrong_lines(data, citation.locator)
    except TychoraError as error:
        return CitationCheck(holds=False, reason=f"the place cannot be read in the original: {error.message}")
    if not says(citation.quote, found, citation.locator):
        return CitationCheck(holds=False, reason=_difference(citation, found), found=found)
    if misplaced:
        return CitationCheck(holds=False, reason=misplaced, found=found)
    how = "in exactly those bytes" if citation.locator.bytes is not None else "at that place, blanks aside"
    note = "" if revisions else "; which source and revision it was is not recorded in the newest snapshot"
    return CitationCheck(holds=True, reason=f"the original has the quote {how}{note}", found=found)


def _hidden(workspace: Workspace, citation: Citation) -> str | None:
    """Why nothing of the cited content may be shown: it was erased, or all of its sources are withdrawn."""
    statements = workspace.statements.in_force()
    if not statements.erased.isdisjoint((citation.content_sha256, citation.revision_id)):
        return "the cited content was erased from this workspace"
    if not statements.withdrawn:
        return None
    found = False
    for batch in _newest_first(workspace):
        same = batch.sources.filter(pc.equal(batch.sources.column("content_sha256"), citation.content_sha256))
        for values in same.to_pylist():
            found = True
            if not statements.hides(SourceRow(**values)):
                return None
    return "the cited content is withdrawn from this workspace" if found else None


def _newest_first(workspace: Workspace) -> Iterator[Batch]:
    """The batches of the newest snapshot, which mostly have the answer, then those of all others."""
    yield from workspace.head().batches
    yield from every_batch(workspace)


def _recorded(workspace: Workspace, citation: Citation) -> tuple[list[SourceRow], str | None]:
    """The source rows of the cited revision, live or past, and the format that its content was read in."""
    rows: list[SourceRow] = []
    parser: str | None = None
    for batch in workspace.head().batches:
        named = pc.equal(batch.sources.column("revision_id"), citation.revision_id)
        rows += [SourceRow(**values) for values in batch.sources.filter(named).to_pylist()]
        ordinal = pc.index(batch.extractions.column("content_sha256"), citation.content_sha256).as_py()
        if parser is None and ordinal >= 0:
            parser = batch.extraction(ordinal).parser
    return rows, parser


def _contradiction(citation: Citation, revisions: list[SourceRow]) -> str | None:
    if all(row.content_sha256 != citation.content_sha256 for row in revisions):
        return "the named revision has other content than the named hash"
    if all(citation.source_path not in (row.path, *row.paths) for row in revisions):
        return f"the named revision is one of {revisions[0].path}, not of {citation.source_path}"
    return None


def _format(data: bytes, path: str) -> str:
    """The format of an original whose extraction the newest snapshot no longer has."""
    from tychora_functions.parse.detect import detect

    return detect(data, path).value


def _wrong_lines(data: bytes, locator: Locator) -> str | None:
    """What is wrong with the lines of a locator that also names bytes."""
    if locator.lines is None or locator.bytes is None:
        return None
    from tychora_functions.parse.textmap import TextMap

    text = TextMap.of(data)
    first, last = (text.character(byte) for byte in locator.bytes)
    lines = (text.line(first), text.line(max(first, last - 1)))
    if lines == tuple(locator.lines):
        return None
    return f"the bytes stand on lines {lines[0]} to {lines[1]}, not {locator.lines[0]} to {locator.lines[1]}"


def _difference(citation: Citation, found: str) -> str:
    literal = citation.locator.bytes is not None
    said, stands = (text if literal else blanks_joined(text) for text in (citation.quote, found))
    at = next(_parting(said, stands))
    start = max(0, at - SHOWN)
    return (
        f"they part at character {at}: the quote has {said[start : at + SHOWN]!r}, "
        f"the original {stands[start : at + SHOWN]!r}"
    )


def _parting(first: str, second: str) -> Iterator[int]:
    """The first position at which two different texts differ."""
    yield from (at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other)
    yield min(len(first), len(second))
