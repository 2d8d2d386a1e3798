"""Proves citations: makes the small file that shows anybody that a quote was evidence in a snapshot."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc
from pydantic import ValidationError

from tychora_format.batch import Batch
from tychora_format.extraction import unit_id
from tychora_format.manifest import snapshot_path
from tychora_format.proof import check_proof, encode_proof, is_quoted, prune, seal_proof
from tychora_format.snapshot import Snapshot, content_leaf, content_leaves
from tychora_format.tables import SOURCES, SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.delivery import delivered
from tychora_functions.evidence import evidence, verify_citation
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound
from tychora_schemas.proof import CitationProof, ProofUnit
from tychora_schemas.receipts import UnitEvidence
from tychora_schemas.result import Citation

__all__ = ["check_proof", "encode_proof", "prove"]

FORMS = "give the citation's JSON, a unit's id (unit_…), or RUN_ID#CITATION_ID"


def prove(workspace: Workspace, citation: Citation | Mapping[str, Any] | str, at: str = "main") -> CitationProof:
    """A proof that the citation's quote was evidence in the snapshot `at`. `encode_proof` makes it a file.

    A string may be a citation's JSON, a unit's id or its unique beginning, or a run's id and a citation's id with a
    `#` between. What a proof shows is said at `check_proof`, to which every proof is put before it is returned.

    Raises InvalidRequest for a citation that does not hold, or whose quote does not follow from its units; NotFound
    where the snapshot does not have its revision, or has it read anew; CorruptWorkspace where the chain is broken.
    """
    return delivered(workspace, lambda: _prove(workspace, citation, at))


def _prove(workspace: Workspace, given: Citation | Mapping[str, Any] | str, at: str) -> CitationProof:
    cited = _citation(workspace, given, at)
    check = verify_citation(workspace, cited)
    if not check.holds:
        raise InvalidRequest(
            f"the citation does not hold: {check.reason}",
            next_step="give it unaltered, as a search returned it; what was withdrawn or erased is not proven",
        )
    snapshot = workspace.resolve(at)
    source = _source(snapshot, cited, at)
    batch, ordinal = _extraction(snapshot, source)
    extraction = batch.extraction(ordinal)
    leaves, units = _units(batch, ordinal, cited, at)
    if not is_quoted(cited.quote, cited.locator.bytes, units):
        raise InvalidRequest(
            "the quote does not follow from the units that the citation names",
            next_step="give the citation unaltered, or prove each of its units: tychora prove WORKSPACE unit_…",
        )
    leaf = content_leaf(source.source_id, source.path, source.state, source.revision_id, source.extraction_id)
    live = content_leaves(snapshot.recorded)
    proof = seal_proof(
        {
            "version": 1,
            "quote": cited.quote,
            "bytes": cited.locator.bytes,
            "content_sha256": extraction.content_sha256,
            "units": [unit.model_dump(mode="json") for unit in units],
            "extraction": {
                "id": extraction.extraction_id,
                "fingerprint": extraction.fingerprint,
                "merkle_root": extraction.merkle_root,
                "tree": prune(leaves, [unit.ordinal for unit in units]),
            },
            "source": {
                "id": source.source_id,
                "path": source.path,
                "state": source.state,
                "revision_id": source.revision_id,
                "tree": prune(live, [live.index(leaf)]),
            },
            "manifest": json.loads(workspace.store.read(snapshot_path(snapshot.id))),
            "snapshot_id": snapshot.id,
        }
    )
    shown = check_proof(encode_proof(proof), snapshot.id)
    if not shown.holds:
        raise CorruptWorkspace(f"no proof can be made: {shown.reason}", next_step="run tychora verify WORKSPACE")
    return proof


def _citation(workspace: Workspace, given: Citation | Mapping[str, Any] | str, at: str) -> Citation:
    if isinstance(given, Citation):
        return given
    try:
        if not isinstance(given, str):
            return Citation.model_validate(given)
        text = given.strip()
        if text.startswith("{"):
            return Citation.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidRequest(f"this is no citation: {where}: {first['msg']}", next_step=FORMS) from error
    if "#" in text:
        return _of_run(workspace, *text.split("#", 1))
    if text.startswith("unit_"):
        return _of_unit(workspace, text, at)
    if text.startswith("citation_"):
        raise InvalidRequest(
            "a citation's id alone cannot be looked up: it belongs to a run",
            next_step="give RUN_ID#CITATION_ID (both are in the search's result), the citation's JSON, or a unit's id",
        )
    raise InvalidRequest(f"{text[:80]!r} is no citation", next_step=FORMS)


def _of_run(workspace: Workspace, run_id: str, citation_id: str) -> Citation:
    from tychora_functions.query import replay

    for citation in replay(workspace, run_id).citations:
        if citation.id == citation_id:
            return citation
    raise NotFound(f"the run has no {citation_id[:80]}", next_step="tychora search --json shows a run's citations")


def _of_unit(workspace: Workspace, id: str, at: str) -> Citation:
    unit = evidence(workspace, id, at)
    assert isinstance(unit, UnitEvidence)
    return Citation(
        id=unit.id,
        source_path=unit.source.path,
        revision_id=unit.revision_id,
        content_sha256=unit.content_sha256,
        quote=unit.text,
        quote_normalised=unit.text,
        locator=unit.locator,
        unit_ids=(unit.id,),
    )


def _source(snapshot: Snapshot, cited: Citation, at: str) -> SourceRow:
    """The live source whose current state is the cited revision."""
    live = snapshot.sources.filter(pc.equal(snapshot.sources.column("revision_id"), cited.revision_id))
    for values in live.select(SOURCES.names).to_pylist():
        row = SourceRow(**values)
        if row.state == "indexed":
            return row
    raise NotFound(
        f"the cited revision of {cited.source_path} is not current in {at}",
        next_step="name the snapshot that it was cited from with --at (tychora inspect WORKSPACE log lists them)",
    )


def _extraction(snapshot: Snapshot, source: SourceRow) -> tuple[Batch, int]:
    for batch in snapshot.batches:
        ordinal = pc.index(batch.extractions.column("extraction_id"), source.extraction_id).as_py()
        if ordinal >= 0:
            return batch, ordinal
    raise CorruptWorkspace(
        f"{source.path}: its extraction is in no batch of the snapshot", next_step="run tychora verify WORKSPACE"
    )


def _units(batch: Batch, ordinal: int, cited: Citation, at: str) -> tuple[list[bytes], list[ProofUnit]]:
    """The leaves of an extraction, all units in their order, and those units that are cited."""
    extraction = batch.extraction(ordinal)
    wanted = set(cited.unit_ids)
    leaves: list[bytes] = []
    found: list[ProofUnit] = []
    for chunk in batch.chunks(range(extraction.first_row, extraction.first_row + extraction.rows)):
        for span in chunk.units:
            text, number = chunk.text[span.start : span.end], len(leaves)
            leaves.append(unit_id(extraction.content_sha256, number, span.kind, text, span.locator))
            if (id := f"unit_{leaves[-1].hex()}") in wanted:
                found.append(ProofUnit(id=id, ordinal=number, kind=span.kind, text=text, locator=span.locator))
    if not wanted:
        raise InvalidRequest("the citation names no units", next_step="give it unaltered, as a search returned it")
    if len(found) < len(wanted):
        raise NotFound(
            f"{cited.source_path} was read anew since: {at} does not have the cited units",
            next_step="search again, or name the snapshot that it was cited from with --at",
        )
    return leaves, found
