"""Citation proofs: from a quote, hash by hash, to a snapshot's id. Checking one needs no workspace and no network.

SPEC.md is the normative description. Nothing heavy is imported here, so that a check starts at once.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from tychora_format.manifest import check_version
from tychora_schemas.errors import InvalidRequest, UnsupportedContent
from tychora_schemas.identity import canonical_json, content_sha256, digest, identity, merkle_root
from tychora_schemas.locator import Locator
from tychora_schemas.proof import CitationProof, ProofCheck, ProofUnit, Tree

__all__ = ["check_proof", "encode_proof", "is_quoted", "prune", "root_of", "seal_proof"]

MOST_BYTES = 16 << 20
"""A larger file is not read as a proof: the manifest of a thousand batches takes 4 MB."""

HASH = re.compile(r"[0-9a-f]{64}")


def check_proof(data: bytes, snapshot_id: str) -> ProofCheck:
    """Whether `data` proves that its quote was evidence in the snapshot of this id (64 hexadecimal digits).

    What it shows then: the units, adjacent and with these texts and places, were read from the original with this
    SHA-256, which was the state of the source at this path in exactly that snapshot. How the quote follows from the
    units is said at `is_quoted`. It does not show that the reading was right: for that the original is needed.

    Any bytes are answered: what is no proof, or not byte for byte one, does not hold. Raises InvalidRequest only where
    `snapshot_id` is no whole id, of which a proof cannot be independent.
    """
    if not HASH.fullmatch(snapshot_id):
        raise InvalidRequest(
            f"{snapshot_id!r} is no snapshot's id",
            next_step="give all of its 64 hexadecimal digits, from somebody whom you trust to know them",
        )
    try:
        proof = _decode(data)
        locators = [Locator.model_validate_json(unit.locator) for unit in proof.units]
        broken = next((what for holds, what in _links(proof, snapshot_id) if not holds), None)
    except (ValueError, RecursionError, UnsupportedContent) as error:
        return ProofCheck(holds=False, reason=f"this is no citation proof: {_first_line(error)}")
    if broken is not None:
        return ProofCheck(holds=False, reason=broken)
    how = "as exactly those bytes" if proof.bytes is not None else "blanks aside"
    return ProofCheck(
        holds=True,
        reason=f"the quote stands in the proven text, {how}, and that was evidence in this snapshot",
        snapshot_id=proof.snapshot_id,
        source_path=proof.source.path,
        revision_id=proof.source.revision_id,
        content_sha256=proof.content_sha256,
        quote=proof.quote,
        bytes=proof.bytes,
        locators=locators,
    )


def encode_proof(proof: CitationProof) -> bytes:
    """The proof's bytes, canonical JSON: the only ones that are accepted, with or without a line feed at their end."""
    return canonical_json(proof.model_dump(mode="json"))


def seal_proof(members: dict[str, Any]) -> CitationProof:
    """The proof that has these members, which are JSON, and the id that follows from them."""
    return CitationProof.model_validate_json(canonical_json({**members, "proof_id": identity("proof", members)}))


def is_quoted(quote: str, place: tuple[int, int] | None, units: Sequence[ProofUnit]) -> bool:
    """Whether the quote follows from the texts of adjacent units.

    With `place`, bytes of the original: every unit is literally bytes, too, the quote lies between the first unit's
    start and the last one's end and shares bytes with each, and shared bytes are equal. Without: units are not all
    literal, and the quote is a part of the one unit or all the units in their order, each run of blanks counting as
    one blank. In both cases only blanks may stand between two units; which blanks those are is not shown.
    """
    numbers = [unit.ordinal for unit in units]
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return False
    places = [Locator.model_validate_json(unit.locator) for unit in units]
    if place is not None:
        return _lies_in(quote, place, units, places)
    return any(locator.bytes is None for locator in places) and _follows(quote, units)


def _lies_in(quote: str, place: tuple[int, int], units: Sequence[ProofUnit], places: Sequence[Locator]) -> bool:
    encoding = places[0].encoding or "utf-8"
    start, end = place
    said = _encoded(quote, encoding)
    if said is None or len(said) != end - start:
        return False
    gaps: list[bytes] = []
    at = start
    for unit, locator in zip(units, places, strict=True):
        text = _encoded(unit.text, encoding)
        if locator.bytes is None or text is None or (locator.encoding or "utf-8") != encoding:
            return False
        first, last = locator.bytes
        shared = (max(first, start), min(last, end))
        if len(text) != last - first or shared[0] >= shared[1] or shared[0] < at:
            return False
        if said[shared[0] - start : shared[1] - start] != text[shared[0] - first : shared[1] - first]:
            return False
        gaps.append(said[at - start : shared[0] - start])
        at = shared[1]
    return at == end and not gaps[0] and all(_is_blank(gap, encoding) for gap in gaps)


def _encoded(text: str, encoding: str) -> bytes | None:
    try:
        return text.encode(encoding)
    except (LookupError, ValueError):
        return None


def _is_blank(gap: bytes, encoding: str) -> bool:
    try:
        return not gap.decode(encoding).strip()
    except ValueError:
        return False


def _follows(quote: str, units: Sequence[ProofUnit]) -> bool:
    said = _blanks_joined(quote)
    texts = [_blanks_joined(unit.text) for unit in units]
    if len(texts) == 1:
        return bool(said) and said in texts[0]
    at = 0
    for text in texts:
        at += said[at : at + 1] == " "
        if not said.startswith(text, at):
            return False
        at += len(text)
    return at == len(said)


def _blanks_joined(text: str) -> str:
    return " ".join(text.split())


def prune(leaves: Sequence[bytes], wanted: Sequence[int]) -> Tree:
    """The Merkle tree over `leaves` (as `merkle_root`) without what the root needs not: only `wanted` are left in it.

    `wanted` are rising positions in `leaves`; the n-th of them stands in the tree as the number n.
    """

    def node(first: int, last: int) -> Tree:
        if not any(first <= position < last for position in wanted):
            return merkle_root(leaves[first:last]).hex()
        if last - first == 1:
            return wanted.index(first)
        middle = first + (1 << (last - first - 1).bit_length() - 1)
        return node(first, middle), node(middle, last)

    return node(0, len(leaves))


def root_of(tree: Tree, leaves: Sequence[bytes]) -> bytes | None:
    """The root of a pruned tree whose number n stands for `leaves[n]`.

    None unless each of them stands in it once and in this order.
    """
    met: list[int] = []

    def hashed(node: Tree) -> bytes:
        if isinstance(node, int):
            met.append(node)
            return hashlib.sha256(b"\x00" + (leaves[node] if node < len(leaves) else b"")).digest()
        if isinstance(node, str):
            return bytes.fromhex(node)
        return hashlib.sha256(b"\x01" + hashed(node[0]) + hashed(node[1])).digest()

    root = hashed(tree)
    return root if met == list(range(len(leaves))) else None


def _decode(data: bytes) -> CitationProof:
    if len(data) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES >> 20} MiB")
    proof = CitationProof.model_validate_json(data)
    if encode_proof(proof) != data.removesuffix(b"\n"):
        raise ValueError("its bytes are not canonical JSON")
    return proof


def _links(proof: CitationProof, snapshot_id: str) -> Iterator[tuple[bool, str]]:
    """The links of the chain, from the quote to the snapshot: whether each holds, and what is wrong where not."""
    members = proof.model_dump(mode="json", exclude={"proof_id"})
    yield identity("proof", members) == proof.proof_id, "the proof was altered: its id does not follow from it"
    yield is_quoted(proof.quote, proof.bytes, proof.units), "the quote does not stand in the units' texts"
    for unit in proof.units:
        payload = unit.model_dump(include={"ordinal", "kind", "text", "locator"})
        follows = identity("unit", {"content": proof.content_sha256, **payload}) == unit.id
        yield follows, f"the id of {unit.id[:13]}… does not follow from its text, its place and the original's hash"

    extraction = proof.extraction
    root = root_of(extraction.tree, [bytes.fromhex(unit.id.removeprefix("unit_")) for unit in proof.units])
    yield root == bytes.fromhex(extraction.merkle_root), "the units do not lead to the extraction's Merkle root"
    read = {"fingerprint": extraction.fingerprint, "output": extraction.merkle_root}
    follows = identity("extraction", {"content": proof.content_sha256, **read}) == extraction.id
    yield follows, "the extraction's id does not follow from its Merkle root and the original's hash"

    source = proof.source
    follows = identity("revision", {"source": source.id, "content": proof.content_sha256}) == source.revision_id
    yield follows, "the revision is not of this source with this original"
    live = {"source_id": source.id, **source.model_dump(include={"path", "state", "revision_id"})}
    leaf = digest("live-v1", {**live, "extraction_id": extraction.id})
    root = root_of(source.tree, [leaf])
    named = proof.manifest.get("content_root")
    yield root is not None and root.hex() == named, "the source does not lead to the manifest's content root"

    check_version(proof.manifest, "the manifest")
    hashed = content_sha256(canonical_json(proof.manifest))
    yield hashed == proof.snapshot_id, "the manifest is not that of the snapshot that the proof names"
    yield hashed == snapshot_id, f"it is about snapshot {hashed[:12]}…, not {snapshot_id[:12]}…"


def _first_line(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"][:4])
        return f"{place}: {first['msg']}" if place else str(first["msg"])
    return (str(error).splitlines() or [type(error).__name__])[0]
