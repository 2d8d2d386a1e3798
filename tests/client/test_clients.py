"""Client and AsyncClient: the same methods, typed results, typed errors, safe for many callers."""

from __future__ import annotations

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tychora_client import AsyncClient, Client, unpack
from tychora_client.async_upkeep import AsyncUpkeep
from tychora_client.upkeep import Upkeep
from tychora_functions.progress import Progress
from tychora_schemas.errors import Busy, Conflict, InvalidRequest, NotFound
from tychora_schemas.receipts import AddReport, InventoryReport

QUESTIONS = ["Who confirms the berth?", "tide gauge", "free_berths", "NQ-2 depth", "crane", "lighthouse keeper"]


@pytest.mark.parametrize(("plain", "awaited"), [(Client, AsyncClient), (Upkeep, AsyncUpkeep)])
def test_what_can_be_awaited_has_the_same_methods_with_the_same_arguments_and_results(
    plain: type, awaited: type
) -> None:
    def offered(kind: type) -> dict[str, str]:
        methods = inspect.getmembers(kind, inspect.isfunction)
        return {name: str(inspect.signature(each)) for name, each in methods if not name.startswith("_")}

    only_plain = {"writing"}  # hands out the workspace itself, for the length of a block
    assert {name: each for name, each in offered(plain).items() if name not in only_plain} == offered(awaited)


def test_the_upkeep_can_be_awaited(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("The dredger works at night.")

    async def run() -> None:
        async with await AsyncClient.create(tmp_path / "w") as client:
            await client.add(tmp_path / "a.txt")
            assert (await client.tag("v1")).name == "v1"
            stated = await client.manage.withdraw("a.txt", "under review")
            assert [each.path for each in stated.sources] == ["a.txt"]
            assert not (await client.search("dredger")).segments
            assert (await client.statements())[0].id == stated.statement_id
            await client.manage.restore("a.txt")
            assert (await client.search("dredger")).segments
            assert (await client.difference("v1")).same_content
            assert (await client.manage.set_policy("retention", 30, collection="default")).made
            assert len(await client.manage.policies()) == 1
            assert not (await client.manage.expire(dry_run=True)).due
            assert (await client.manage.compact()).batches_after == 1
            assert (await client.manage.collect(dry_run=True)).dry_run
            assert (await client.manage.upgrade()).brings == []
            assert (await client.manage.delete("a.txt")).contents
            assert (await client.manage.rollback("v1")).restored

    asyncio.run(run())


def test_a_packed_file_is_written_as_a_whole_by_one_at_a_time(tmp_path: Path, library: Path) -> None:
    place = tmp_path / "harbour.tychora"
    with Client.create(place) as client:
        assert len(client.add(library).added) == 8
        before = place.read_bytes()
        assert client.search("tide gauge").segments
        with client.writing(), pytest.raises(Busy):
            Client(place).add(library)
        assert place.read_bytes() == before, "nothing was changed, so nothing was written"
        client.tag("v1")
        assert client.log()[0].tags == ["v1"]
        assert client.verify().ok
    with pytest.raises(Conflict):
        Client.create(place)
    assert sorted(each.name for each in tmp_path.iterdir() if "harbour" in each.name) == ["harbour.tychora"]


def test_a_name_that_is_nearly_right_is_answered_with_the_right_one(tmp_path: Path) -> None:
    Client.create(tmp_path / "harbour")
    for wrong in ("Harbour", "habour", "harbour.tychora"):
        with pytest.raises(NotFound) as raised:
            Client(tmp_path / wrong).inspect()
        assert raised.value.next_step == "did you mean harbour?"


def test_a_packed_file_lies_on_this_machine(client: Client) -> None:
    with pytest.raises(InvalidRequest):
        client.pack("s3://bucket/w.tychora")
    with pytest.raises(InvalidRequest):
        unpack("w.tychora", "s3://bucket/w")


def test_a_library_is_added_once_and_synced_after(tmp_path: Path, library: Path) -> None:
    seen: list[Progress] = []
    with Client.create(tmp_path / "w") as client:
        plan = client.add(library, dry_run=True)
        assert isinstance(plan, InventoryReport)
        assert client.log() == []
        report = client.add([str(library)], collection="harbour", progress=seen.append)
        assert isinstance(report, AddReport)
        assert len(report.added) == len(plan.captured) == 8
        again = client.add(library, collection="harbour")
        assert len(again.unchanged) == 8
        assert again.snapshot_id == report.snapshot_id
        (library / "handbook.md").write_text("# Harbour handbook\n\nThe berth is confirmed by radio.\n")
        (library / "leaflet.pdf").rename(library / "tides.pdf")
        (library / "minutes.docx").unlink()
        synced = client.add(library, collection="harbour")
        assert [len(synced.changed), len(synced.moved), len(synced.removed)] == [1, 1, 1]
        assert [entry.number for entry in client.log()] == [2, 1]
        assert any("by radio" in each.text for each in client.search("berth confirmed").segments)
        assert any("in writing" in each.text for each in client.search("berth confirmed", at="main~1").segments)
        assert {each.collection for each in client.sources()} == {"harbour"}
    assert {progress.stage for progress in seen} >= {"looking", "reading", "committing"}


def test_search_filters_take_one_value_or_several(client: Client) -> None:
    paths = {segment.source.path for segment in client.search("berth", filters={"path": "*.csv"}).segments}
    assert {Path(path).name for path in paths} == {"berths.csv"}
    several = client.search("berth", filters={"path": ["*.csv", "*.md"], "collection": "default"})
    assert {Path(segment.source.path).suffix for segment in several.segments} == {".csv", ".md"}


def test_budget_and_fusion_default_to_the_settings(workspace: Path) -> None:
    with Client(workspace, query_budget_tokens=333) as client:
        assert client.search("berth").budget_contract.tokens == 333
        assert client.search("berth", budget_tokens=44).budget_contract.tokens == 44


def test_a_run_is_replayed_from_its_token(client: Client, workspace: Path) -> None:
    result = client.search("Who confirms the berth?", k=2)
    assert Client(workspace).replay(result.run_id).segments == result.segments


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("https://example.org/w", InvalidRequest),
        ("HTTP://example.org/w", InvalidRequest),
    ],
)
def test_places_of_later_versions_are_refused_with_what_to_do(place: str, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        Client(place)
    assert raised.value.next_step


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"k": 101}, {"budget_tokens": 0}, {"channels": ["smell"]}, {"fusion": "x"}]
)
def test_impossible_requests_are_invalid_requests(client: Client, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest) as raised:
        client.search("berth", **wrong)
    assert next(iter(wrong)) in raised.value.message


def test_opening_is_lazy_and_a_missing_workspace_is_not_found(tmp_path: Path) -> None:
    client = Client(tmp_path / "nowhere")
    with pytest.raises(NotFound):
        client.inspect()
    with pytest.raises(Conflict):
        Client.create(Client.create(tmp_path / "w").url)


def test_unknown_settings_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest):
        Client.create(tmp_path / "w", settings={"colour": "red"})
    with pytest.raises(InvalidRequest):
        Client.create(tmp_path / "w", profile="poems")
    assert not (tmp_path / "w").exists()


def test_a_closed_client_opens_again(client: Client) -> None:
    before = client.inspect()
    client.close()
    assert client.inspect() == before


def test_many_threads_may_share_a_client(workspace: Path) -> None:
    """Every answer is the one that a single caller gets."""
    alone = Client(workspace)
    expected = [alone.search(question, k=3).segments for question in QUESTIONS]
    with Client(workspace) as shared, ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda question: shared.search(question, k=3).segments, QUESTIONS * 4))
    assert answers == expected * 4


def test_the_async_client_answers_concurrently(workspace: Path) -> None:
    async def ask() -> None:
        async with AsyncClient(workspace) as client:
            results = await asyncio.gather(*(client.search(question, k=2) for question in QUESTIONS))
            assert all(result.segments for result in results)
            overview, sources, log = await asyncio.gather(client.inspect(), client.sources(), client.log())
            assert (overview.sources["indexed"], len(log)) == (len(sources), overview.commits)
            citation = results[0].citations[0]
            assert (await client.verify_citation(citation)).holds
            assert (await client.evidence(citation.unit_ids[0])).type == "unit"
            assert (await client.replay(results[0].run_id)).segments == results[0].segments
            assert (await client.configuration()) and (await client.jobs()) == []
            assert (await client.verify()).ok

    asyncio.run(ask())


def test_the_async_client_creates_and_adds(tmp_path: Path, library: Path) -> None:
    async def make() -> None:
        client = await AsyncClient.create(tmp_path / "w", profile="code")
        assert len((await client.add(library, dry_run=True)).captured) == 8
        assert len((await client.add(library / "handbook.md")).added) == 1
        await client.close()

    asyncio.run(make())
