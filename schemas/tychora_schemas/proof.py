"""A citation proof: what ties a quote to a snapshot's id, and what came out of checking it. SPEC.md is normative."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, FailFast, Field
from typing_extensions import TypeAliasType

from tychora_schemas.locator import Locator

__all__ = ["CitationProof", "ProofCheck", "ProofExtraction", "ProofSource", "ProofUnit", "Tree"]

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Number = Annotated[int, Field(ge=0, lt=1 << 53)]

Tree = TypeAliasType("Tree", "Number | Sha256 | tuple[Tree, Tree]")
"""A Merkle tree (RFC 6962 section 2.1) without what is not needed: a number stands for the leaf that the proof shows
under that number, 64 hexadecimal digits for the hash of a subtree, a pair for a node with its two children."""

DEEPEST = 64
MOST_NODES = 1 << 16


def _bounded(tree: Any) -> Any:
    """The tree with tuples for pairs, stopping at the first fault: a union would tell every one of a million."""
    nodes = 0

    def bounded(node: Any, depth: int) -> Any:
        nonlocal nodes
        nodes += 1
        if depth > DEEPEST or nodes > MOST_NODES:
            raise ValueError("the tree is larger than any that is needed")
        if isinstance(node, list | tuple) and len(node) == 2:
            return bounded(node[0], depth + 1), bounded(node[1], depth + 1)
        if type(node) is int or (isinstance(node, str) and re.fullmatch("[0-9a-f]{64}", node)):
            return node
        raise ValueError("a node of the tree is no number, hash or pair")

    return bounded(tree, 0)


Pruned = Annotated[Tree, BeforeValidator(_bounded)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class ProofUnit(_Strict):
    """An evidence unit, with all that its id is over except the content's hash."""

    id: Annotated[str, Field(pattern=r"^unit_[0-9a-f]{64}$")]
    ordinal: Number = Field(description="its number in the extraction")
    kind: str
    text: str
    locator: str = Field(description="canonical JSON in a string, as it is hashed")


class ProofExtraction(_Strict):
    """The extraction that the units are of. The leaves of `tree` are the hashes in the units' ids."""

    id: Annotated[str, Field(pattern=r"^extraction_[0-9a-f]{64}$")]
    fingerprint: str
    merkle_root: Sha256
    tree: Pruned


class ProofSource(_Strict):
    """The source as the snapshot has it. The only leaf of `tree` is the hash of its live row."""

    id: str
    path: str
    state: Literal["indexed"]
    revision_id: Annotated[str, Field(pattern=r"^revision_[0-9a-f]{64}$")]
    tree: Pruned


class CitationProof(_Strict):
    """A quote, the units that it is made of, and the hashes from there to the snapshot's id, the innermost first."""

    version: Literal[1]
    proof_id: Annotated[str, Field(pattern=r"^proof_[0-9a-f]{64}$", description="over all other members")]
    quote: str = Field(min_length=1)
    bytes: tuple[Number, Number] | None = Field(
        description="where the quote is literally bytes of the original: their range [start, end)"
    )
    content_sha256: Sha256 = Field(description="of the whole original file")
    units: Annotated[tuple[ProofUnit, ...], FailFast()] = Field(
        min_length=1, max_length=10_000, description="adjacent units, in reading order"
    )
    extraction: ProofExtraction
    source: ProofSource
    manifest: dict[str, Any] = Field(description="the snapshot's manifest: its canonical JSON hashes to snapshot_id")
    snapshot_id: Sha256


class ProofCheck(BaseModel):
    """Whether a proof holds for a snapshot's id. The other fields are what it proves, and empty where it fails."""

    model_config = ConfigDict(extra="ignore")

    holds: bool
    reason: str = Field(description="what was shown, or which link of the chain is broken")
    snapshot_id: str | None = None
    source_path: str | None = None
    revision_id: str | None = None
    content_sha256: str | None = None
    quote: str | None = None
    bytes: tuple[int, int] | None = Field(None, description="of the original, where the quote is literally those")
    locators: list[Locator] = Field(default_factory=list, description="the place of each unit that the quote is of")
