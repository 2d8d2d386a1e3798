"""Every id leads back to its evidence, and a citation that was altered in any way does not hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tychora_client import Client
from tychora_functions.inspection import configuration, shown
from tychora_schemas.errors import CorruptWorkspace, InvalidRequest, NotFound
from tychora_schemas.receipts import SnapshotEvidence, SourceEvidence, UnitEvidence
from tychora_schemas.result import Citation

QUESTIONS = {
    "handbook.md": "harbour master confirmed the berth",
    "log.txt": "Schleuse Montag geschlossen",
    "page.html": "contract annex run 2031",
    "berths.csv": "NQ-2",
    "tariff.json": "winter special tariff",
    "quay.py": "free_berths",
    "minutes.docx": "board postponed question crane",
    "leaflet.pdf": "lighthouse keeper retired",
}


def citations(client: Client, question: str, name: str) -> list[Citation]:
    result = client.search(question, k=8)
    return [each for each in result.citations if Path(each.source_path).name == name]


def first(client: Client, name: str) -> Citation:
    return citations(client, QUESTIONS[name], name)[0]


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_citation_of_every_format_holds(name: str, client: Client) -> None:
    found = citations(client, QUESTIONS[name], name)
    assert found
    for citation in found:
        check = client.verify_citation(citation)
        assert check.holds, check.reason
        assert client.verify_citation(citation.model_dump(mode="json")) == check


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_unit_has_its_text_place_source_and_headings(name: str, client: Client) -> None:
    citation = first(client, name)
    for id in citation.unit_ids:
        unit = client.evidence(id)
        assert isinstance(unit, UnitEvidence)
        assert unit.id == id
        assert unit.text in citation.quote
        assert unit.source.path == citation.source_path
        assert (unit.content_sha256, unit.revision_id) == (citation.content_sha256, citation.revision_id)
        cited = citation.model_copy(update={"quote": unit.text, "locator": unit.locator})
        assert client.verify_citation(cited).holds


def test_the_beginning_of_an_id_is_enough(client: Client) -> None:
    id = first(client, "handbook.md").unit_ids[0]
    for digits in (8, 9, 12, 63):
        assert client.evidence(id[: len("unit_") + digits]).id == id
    with pytest.raises(InvalidRequest):
        client.evidence(id[: len("unit_") + 7])


def test_a_source_has_its_revisions_newest_first(tmp_path: Path, library: Path) -> None:
    with Client.create(tmp_path / "w") as client:
        client.add(library)
        source = next(each for each in client.sources() if each.path.endswith("handbook.md"))
        (library / "notes/log.txt").write_text("Nothing about the handbook.")
        client.add(library)
        (library / "handbook.md").write_text("# Harbour handbook\n\nSecond edition.\n")
        client.add(library)
        (library / "handbook.md").rename(library / "manual.md")
        last = client.add(library)
        found = client.evidence(source.id)
        assert isinstance(found, SourceEvidence)
        assert (found.snapshot_id, found.source.path[-9:], found.title) == (
            last.snapshot_id,
            "manual.md",
            "Harbour handbook",
        )
        assert [each.path.rpartition("/")[2] for each in found.revisions] == ["manual.md", "handbook.md", "handbook.md"]
        assert len({each.revision_id for each in found.revisions}) == 2
        assert client.evidence(found.revisions[0].revision_id or "").id == source.id
        before = client.evidence(source.id, at="main~2")
        assert isinstance(before, SourceEvidence)
        assert len(before.revisions) == 1


def test_a_snapshot_is_found_by_its_hash(client: Client) -> None:
    snapshot_id = client.inspect().snapshot_id
    for id in (snapshot_id, snapshot_id[:8], f"snapshot_{snapshot_id}"):
        found = client.evidence(id)
        assert isinstance(found, SnapshotEvidence)
        assert (found.id, found.sources) == (snapshot_id, 8)


@pytest.mark.parametrize("id", ["", "unit_", "unit_xyz", "chunk_00000000", "../../etc/passwd", "unit_" + "0" * 65])
def test_what_is_no_id_is_an_invalid_request(id: str, client: Client) -> None:
    with pytest.raises(InvalidRequest):
        client.evidence(id)


@pytest.mark.parametrize("id", ["unit_" + "0" * 64, "source_00000000", "revision_00000000", "0" * 64])
def test_what_is_not_there_is_not_found(id: str, client: Client) -> None:
    with pytest.raises(NotFound):
        client.evidence(id)


def test_a_unit_of_a_removed_source_is_found_in_the_snapshot_that_has_it(tmp_path: Path, library: Path) -> None:
    with Client.create(tmp_path / "w") as client:
        client.add(library)
        citation = first(client, "minutes.docx")
        (library / "minutes.docx").unlink()
        client.add(library)
        with pytest.raises(NotFound):
            client.evidence(citation.unit_ids[0])
        assert client.evidence(citation.unit_ids[0], at="main~1").id == citation.unit_ids[0]
        assert client.verify_citation(citation).holds


def moved(pair: tuple[int, int]) -> tuple[int, int]:
    return pair[0] + 1, pair[1] + 1


@pytest.mark.parametrize("name", QUESTIONS)
def test_an_altered_quote_does_not_hold_and_the_difference_is_named(name: str, client: Client) -> None:
    citation = first(client, name)
    middle = len(citation.quote) // 2
    forged = citation.quote[:middle] + "FORGED" + citation.quote[middle:]
    check = client.verify_citation(citation.model_copy(update={"quote": forged}))
    assert not check.holds
    assert "FORGED" in check.reason


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"bytes": "moved"}, "they part at character 0"),
        ({"lines": "moved"}, "the bytes stand on line"),
        ({"bytes": (0, 10**9)}, "outside"),
        ({"bytes": (5, 2)}, "outside"),
        ({"encoding": "utf-16"}, "cannot be read"),
        ({"encoding": "klingon"}, "cannot be read"),
    ],
)
def test_an_altered_place_does_not_hold(change: dict[str, Any], reason: str, client: Client) -> None:
    citation = first(client, "handbook.md")
    locator = citation.locator
    update = {key: moved(getattr(locator, key)) if value == "moved" else value for key, value in change.items()}
    check = client.verify_citation(citation.model_copy(update={"locator": locator.model_copy(update=update)}))
    assert not check.holds
    assert reason in check.reason


@pytest.mark.parametrize("name", ["minutes.docx", "leaflet.pdf", "page.html", "tariff.json"])
def test_a_place_that_leads_nowhere_is_a_reason_not_an_error(name: str, client: Client) -> None:
    citation = first(client, name)
    update = {"path": "nowhere[9]/at..all[x]", "page": 99, "boxes": None, "lines": (900, 901), "characters": (5, 10**6)}
    check = client.verify_citation(citation.model_copy(update={"locator": citation.locator.model_copy(update=update)}))
    assert not check.holds


def test_a_citation_of_other_content_or_another_path_does_not_hold(client: Client) -> None:
    citation, other = first(client, "handbook.md"), first(client, "log.txt")
    unknown = client.verify_citation(citation.model_copy(update={"content_sha256": "0" * 64}))
    assert (unknown.holds, "not retained" in unknown.reason) == (False, True)
    assert not client.verify_citation(citation.model_copy(update={"source_path": "elsewhere.md"})).holds
    assert not client.verify_citation(citation.model_copy(update={"revision_id": other.revision_id})).holds
    with pytest.raises(InvalidRequest):
        client.verify_citation(citation.model_copy(update={"content_sha256": "../../secret"}))
    with pytest.raises(InvalidRequest):
        client.verify_citation({"id": "citation_1"})


def test_a_damaged_original_is_a_corrupt_workspace(tmp_path: Path, library: Path) -> None:
    with Client.create(tmp_path / "w") as client:
        client.add(library / "handbook.md")
        citation = first(client, "handbook.md")
        sha256 = citation.content_sha256
        original = tmp_path / "w" / "objects" / sha256[:2] / sha256
        original.chmod(0o644)
        original.write_bytes(original.read_bytes()[::-1])
        with pytest.raises(CorruptWorkspace):
            client.verify_citation(citation)


def test_the_overview_adds_up(client: Client, workspace: Path) -> None:
    seen = client.inspect()
    assert seen.sources == {"indexed": 8}
    assert seen.collections == {"default": 8}
    assert sum(seen.kinds.values()) == 8
    assert seen.families == {"wordllama-256": seen.chunks}
    assert sum(seen.bytes.values()) == sum(path.stat().st_size for path in workspace.rglob("*") if path.is_file())
    assert seen.chunks == client.log()[0].chunks


def test_secrets_are_never_shown() -> None:
    assert shown("voyage_api_key", "pa-123") == shown("hub_token", "hf") == shown("password", "x") == "[redacted]"
    assert shown("voyage_api_key", None) is None
    assert shown("endpoint", "https://me:pass@host/x") == "https://[redacted]@host/x"
    assert shown("query_budget_tokens", 6000) == 6000


def test_configuration_names_each_value_and_its_layer(client: Client) -> None:
    found = {each.key: each for each in configuration(client.workspace, {"query_fusion": "rrf"})}
    assert (found["query_fusion"].value, found["query_fusion"].origin) == ("rrf", "flags")
    assert found["chunk_target_tokens"].origin == "default"
