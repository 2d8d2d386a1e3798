"""A proof shows anybody that a quote was evidence in exactly one snapshot, and nothing else passes for one."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tychora_format.proof import check_proof, encode_proof, seal_proof
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.evidence import evidence
from tychora_functions.proving import prove
from tychora_functions.query import query
from tychora_schemas.errors import InvalidRequest, NotFound
from tychora_schemas.proof import CitationProof
from tychora_schemas.receipts import UnitEvidence
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import Citation, QueryResult
from tychora_schemas.settings import resolve_settings

HARBOUR = Path(__file__).resolve().parents[2] / "docs/examples/harbour"
QUESTIONS = ("When does E-417 appear?", "Which quay floods at spring tide?", "What does a bicycle cost?", "dredging")
SETTINGS = resolve_settings(flags={"parse_workers": 1}, environment={})


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two snapshots: the harbour's files (Markdown, CSV, HTML, PDF, Python), then with another handbook."""
    folder = tmp_path_factory.mktemp("proving")
    root = shutil.copytree(HARBOUR, folder / "harbour")
    made = Workspace.create(folder / "evidence")
    add(made, [root], settings=SETTINGS)
    handbook = root / "handbook.md"
    handbook.write_text(handbook.read_text("utf-8").replace("E-417", "E-418"), "utf-8")
    add(made, [root], settings=SETTINGS)
    return made


def ask(workspace: Workspace, question: str, at: str = "main") -> QueryResult:
    return query(workspace, QueryRequest(question=question, at=at, k=3))


def cited(workspace: Workspace, question: str, at: str = "main") -> Citation:
    return ask(workspace, question, at).citations[0]


def proof_of(workspace: Workspace, question: str, at: str = "main") -> CitationProof:
    return prove(workspace, cited(workspace, question, at), at)


def units(workspace: Workspace) -> Iterator[str]:
    """The ids of all units of the newest snapshot, by way of the prefixes that the bundle stores."""
    for batch, rows in zip(workspace.head().batches, workspace.head().everything.rows, strict=True):
        table = batch.table("units")
        assert table is not None
        yield from (
            f"unit_{prefix.hex()}"
            for prefix, row in zip(table["unit_prefix"].to_pylist(), table["row"].to_pylist(), strict=True)
            if rows[row]
        )


def stranger_accepts(data: bytes, snapshot_id: str) -> bool:
    """SPEC.md's check of a proof, written by somebody who has a standard library and nothing of ours."""

    def canonical(value: Any) -> bytes:  # enough of RFC 8785: a proof holds no fractions, and its keys are ASCII
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def named(kind: str, payload: Any) -> str:
        return f"{kind}_{hashlib.sha256(kind.encode() + b'-v1' + bytes(1) + canonical(payload)).hexdigest()}"

    def root(node: Any, leaves: list[bytes]) -> bytes:
        if isinstance(node, int):
            return hashlib.sha256(b"\x00" + leaves[node]).digest()
        if isinstance(node, str):
            return bytes.fromhex(node)
        return hashlib.sha256(b"\x01" + root(node[0], leaves) + root(node[1], leaves)).digest()

    proof = json.loads(data)
    if (
        canonical(proof) != data
        or named("proof", {k: v for k, v in proof.items() if k != "proof_id"}) != proof["proof_id"]
    ):
        return False
    content, extraction, source = proof["content_sha256"], proof["extraction"], proof["source"]
    ids = [named("unit", {"content": content, **{k: v for k, v in u.items() if k != "id"}}) for u in proof["units"]]
    merkle_root = root(extraction["tree"], [bytes.fromhex(id[5:]) for id in ids]).hex()
    extraction_id = named(
        "extraction", {"content": content, "fingerprint": extraction["fingerprint"], "output": merkle_root}
    )
    revision_id = named("revision", {"source": source["id"], "content": content})
    live = {"source_id": source["id"], "path": source["path"], "state": source["state"]}
    leaf = named("live", {**live, "revision_id": revision_id, "extraction_id": extraction_id})
    content_root = root(source["tree"], [bytes.fromhex(leaf[5:])]).hex()
    text = "".join("".join(unit["text"].split()) for unit in proof["units"])
    return (
        "".join(proof["quote"].split()) in text
        and content_root == proof["manifest"]["content_root"]
        and hashlib.sha256(canonical(proof["manifest"])).hexdigest() == snapshot_id == proof["snapshot_id"]
    )


def test_every_unit_of_every_format_is_proven(workspace: Workspace) -> None:
    """For us and for a stranger; the proof says the unit's text, its path and its original."""
    head = workspace.head().id
    paths = set()
    for id in units(workspace):
        unit = evidence(workspace, id)
        assert isinstance(unit, UnitEvidence)
        proof = prove(workspace, id)
        data = encode_proof(proof)
        check = check_proof(data, head)
        assert check.holds, check.reason
        assert (check.quote, check.source_path, check.locators) == (unit.text, unit.source.path, [unit.locator])
        assert (check.content_sha256, check.snapshot_id) == (unit.content_sha256, head)
        assert stranger_accepts(data, head)
        paths.add(unit.source.path)
    assert {Path(path).suffix for path in paths} == {".md", ".csv", ".html", ".pdf", ".py"}


@pytest.mark.parametrize("question", QUESTIONS)
def test_every_citation_of_an_answer_is_proven(workspace: Workspace, question: str) -> None:
    result = ask(workspace, question)
    assert result.citations
    for citation in result.citations:
        data = encode_proof(prove(workspace, citation))
        check = check_proof(data, result.snapshot_id)
        assert check.holds and check.quote == citation.quote and check.bytes == citation.locator.bytes
        assert stranger_accepts(data, result.snapshot_id)


def test_a_citation_may_be_given_in_five_ways(workspace: Workspace) -> None:
    result = ask(workspace, QUESTIONS[1])
    citation = result.citations[0]
    expected = prove(workspace, citation)
    for given in (
        citation.model_dump(mode="json"),
        citation.model_dump_json(),
        f"{result.run_id}#{citation.id}",
    ):
        assert prove(workspace, given) == expected
    unit = prove(workspace, citation.unit_ids[0])
    assert unit.units == expected.units[:1]


def test_a_flipped_bit_anywhere_is_refused(workspace: Workspace, seed: int) -> None:
    proof = proof_of(workspace, QUESTIONS[0])
    data = encode_proof(proof)
    chance = random.Random(seed)
    for position in chance.sample(range(len(data)), min(len(data), 800)):
        flipped = bytearray(data)
        flipped[position] ^= 1 << chance.randrange(8)
        assert not check_proof(bytes(flipped), proof.snapshot_id).holds, position


def test_cut_lengthened_and_respelled_proofs_are_refused(workspace: Workspace) -> None:
    """A line feed at the end, which many tools add, is the one thing that makes no difference."""
    proof = proof_of(workspace, QUESTIONS[0])
    data = encode_proof(proof)
    respelled = json.dumps(json.loads(data), indent=1).encode()
    doubled = data.replace(b'"version":1', b'"version":1,"version":1')
    for other in (data[:-1], data[1:], data + b" ", data + b"\n\n", data + b"\r\n", data * 2, respelled, doubled):
        assert not check_proof(other, proof.snapshot_id).holds
    assert check_proof(data + b"\n", proof.snapshot_id).holds


def members(proof: CitationProof) -> dict[str, Any]:
    return proof.model_dump(mode="json", exclude={"proof_id"})


def test_a_mixture_of_two_proofs_is_refused(workspace: Workspace) -> None:
    """Even where the liar computes the proof's own id again."""
    one, other = members(proof_of(workspace, QUESTIONS[0])), members(proof_of(workspace, QUESTIONS[1]))
    swaps = [((name,), other[name]) for name in one if other[name] != one[name]]
    for part in ("extraction", "source"):
        swaps += [((part, name), other[part][name]) for name in one[part] if other[part][name] != one[part][name]]
    assert len(swaps) >= 10
    for path, value in swaps:
        lie = json.loads(json.dumps(one))
        inner = lie
        for name in path[:-1]:
            inner = inner[name]
        inner[path[-1]] = value
        check = check_proof(encode_proof(seal_proof(lie)), one["snapshot_id"])
        assert not check.holds and check.quote is None, path


@pytest.mark.parametrize(
    ("part", "name", "value", "link"),
    [
        (None, "quote", "E-999", "quote does not stand"),
        (None, "content_sha256", "0" * 64, "id of unit_"),
        ("units", "text", "## 9 Calm", "quote does not stand"),
        ("units", "kind", "figure", "id of unit_"),
        ("extraction", "tree", [0, 1], "extraction's Merkle root"),
        ("extraction", "fingerprint", "0" * 64, "extraction's id"),
        ("source", "id", "source_" + "0" * 64, "revision"),
        ("source", "path", "elsewhere.md", "content root"),
        ("manifest", "time", "2020-01-01T00:00:00+00:00", "manifest"),
        ("manifest", "format", 999, "needs format version 999"),
        (None, "snapshot_id", "0" * 64, "manifest"),
    ],
)
def test_the_broken_link_is_named(workspace: Workspace, part: str | None, name: str, value: Any, link: str) -> None:
    proof = members(proof_of(workspace, QUESTIONS[0]))
    inner = proof[part] if part else proof
    (inner[0] if isinstance(inner, list) else inner)[name] = value
    check = check_proof(encode_proof(seal_proof(proof)), proof["snapshot_id"])
    assert not check.holds
    assert link in check.reason


def test_an_older_snapshots_proof_holds_for_that_snapshot_only(workspace: Workspace) -> None:
    older = workspace.resolve("main~1").id
    citation = cited(workspace, QUESTIONS[0], "main~1")
    assert "E-417" in citation.quote
    data = encode_proof(prove(workspace, citation, "main~1"))
    assert check_proof(data, older).holds
    check = check_proof(data, workspace.head().id)
    assert not check.holds and "it is about snapshot" in check.reason
    with pytest.raises(NotFound, match="is not current in main"):
        prove(workspace, citation)


def test_what_is_unchanged_since_has_a_proof_for_each_snapshot(workspace: Workspace) -> None:
    citation = cited(workspace, QUESTIONS[1])
    for at in ("main", "main~1"):
        proof = prove(workspace, citation, at)
        assert proof.snapshot_id == workspace.resolve(at).id
        assert check_proof(encode_proof(proof), proof.snapshot_id).holds


def test_what_does_not_hold_is_not_proven(workspace: Workspace) -> None:
    citation = cited(workspace, QUESTIONS[0])
    foreign = cited(workspace, QUESTIONS[1]).unit_ids
    for change, error, what in (
        ({"quote": citation.quote.replace("E-418", "E-419")}, InvalidRequest, "does not hold"),
        ({"unit_ids": ()}, InvalidRequest, "names no units"),
        ({"unit_ids": citation.unit_ids[1:]}, InvalidRequest, "does not follow from the units"),
        ({"unit_ids": foreign}, NotFound, "read anew"),
        ({"revision_id": "revision_" + "0" * 64}, NotFound, "is not current"),
    ):
        with pytest.raises(error, match=what):
            prove(workspace, citation.model_copy(update=change))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ("citation_" + "0" * 64, "alone cannot be looked up"),
        ("{}", "no citation"),
        ("{", "no citation"),
        ("source_" + "0" * 64, "no citation"),
        ("", "no citation"),
        ("run_nonsense#citation_0", "no run id"),
        ({"quote": "alone"}, "no citation"),
    ],
)
def test_what_is_no_citation_is_refused_with_what_to_give(workspace: Workspace, given: Any, what: str) -> None:
    with pytest.raises(InvalidRequest, match=what) as refused:
        prove(workspace, given)
    assert refused.value.next_step
