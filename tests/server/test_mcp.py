"""The MCP server, driven by the SDK's own client: the same evidence as in process, inside budgets, behind scopes."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("uvicorn")

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from library_files import write_library
from mcp.client.client import Client as McpClient
from mcp.shared.exceptions import MCPError

from server.serving import call, command, endpoint, stdio, with_client
from tychora_client import Client
from tychora_client.server.mcp import KEY_PLACEHOLDER, build_mcp, mcp_config
from tychora_functions.tokens import count_tokens
from tychora_schemas.receipts import UnitEvidence
from tychora_schemas.settings import ENVIRONMENT_PREFIX

TOOLS = {"search", "get_evidence", "verify_citation", "list_sources", "outline", "replay"}

QUESTIONS = [
    *("When may a vessel moor?", "MOOR-4711", "What is the fee per night?", "Wer schloss die Schleuse?", "Pegel"),
    *("dredging contract annex", "depth of NQ-2", "Winter special tariff", "free_berths", "who holds a berth"),
    *("What did the board postpone?", "tide gauge at pier seven", "When did the lighthouse keeper retire?", "crane"),
    *('"north quay"', "a OR (b AND", "", "C++ .NET", "harbour master writing", "water per 100 l"),
]

HOSTILE: list[tuple[str, dict[str, Any]]] = [
    ("search", {}),
    ("search", {"question": None}),
    ("search", {"question": ["x"]}),
    ("search", {"question": "x" * 100_001}),
    ("search", {"question": "x", "k": 0}),
    ("search", {"question": "x", "k": 10**30}),
    ("search", {"question": "x", "k": "many"}),
    ("search", {"question": "x", "k": True, "at": 7}),
    ("search", {"question": "x", "at": "../../etc/passwd"}),
    ("search", {"question": "x", "at": "main~99999999999999999999"}),
    ("search", {"question": "x", "at": "f" * 64}),
    ("search", {"question": "x", "budget_tokens": 1}),
    ("search", {"question": "x", "budget_tokens": -5}),
    ("search", {"question": "x", "collection": {"a": 1}}),
    ("search", {"question": "x", "kind": [1, 2]}),
    ("search", {"question": "x", "cursor": "nonsense"}),
    ("search", {"question": "x", "cursor": "run_AAAA~ffffffffffff"}),
    ("search", {"question": "x", "cursor": "run_" + "A" * 50_000 + "~0"}),
    ("search", {"question": "x", "trace": True}),
    ("get_evidence", {"id": "unit_00000000"}),
    ("get_evidence", {"id": "unit_' OR 1=1 --"}),
    ("get_evidence", {"id": "\x00"}),
    ("get_evidence", {"id": "source_ffffffff", "at": "yesterday's"}),
    ("verify_citation", {"citation": "citation_00000000"}),
    ("verify_citation", {"citation": {"id": "x"}}),
    ("verify_citation", {"citation": [[[[]]]]}),
    ("verify_citation", {"citation": "run_x#citation_x"}),
    ("list_sources", {"state": "lost"}),
    ("list_sources", {"cursor": "sources_W10"}),
    ("list_sources", {"cursor": "sources_" + "W" * 20_000}),
    ("outline", {"source": "no/such/path"}),
    ("outline", {"source": "source_ffffffff"}),
    ("replay", {"run_id": "run_"}),
    ("replay", {"run_id": "run_AAAA#~#"}),
    ("no_such_tool", {}),
]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A workspace with the library in one collection and two secrets in another."""
    home = tmp_path_factory.mktemp("mcp")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX)]:
            patch.delenv(name)
        patch.setenv("TYCHORA_PARSE_WORKERS", "1")
        patch.setenv("TYCHORA_CACHE", str(home / "cache"))
        patch.setenv("TYCHORA_STATE", str(home / "state"))
        with Client.create(home / "workspace") as made:
            made.add(write_library(home / "library"), collection="public")
            (home / "vault").mkdir()
            (home / "vault" / "safe.md").write_text("# Safe\n\nThe vessel with the vault code 9981 moors at night.\n")
            (home / "vault" / "long.md").write_text(
                "\n\n".join(f"# Part {n}\n\n" + f"Smugglers moor vessel {n} in the cave. " * 30 for n in range(30))
            )
            made.add(home / "vault", collection="vault")
            yield made


def tokens(result: Any) -> int:
    structured = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
    return sum(count_tokens([*(block.text for block in result.content), structured]))


def error_of(result: Any) -> dict[str, str]:
    assert result.is_error
    assert result.structured_content is None
    error: dict[str, str] = json.loads(result.content[0].text)["error"]
    assert set(error) == {"code", "message", "next_step"}
    return error


async def pages(connected: McpClient, question: str, **arguments: Any) -> list[dict[str, Any]]:
    """All answers to a question, following the cursors."""
    answers: list[dict[str, Any]] = []
    while True:
        result = await connected.call_tool("search", {"question": question, **arguments})
        assert not result.is_error, result.content
        assert result.structured_content is not None
        answers.append(result.structured_content)
        if "next_cursor" not in answers[-1]:
            return answers
        arguments["cursor"] = answers[-1]["next_cursor"]


def test_every_tool_reads_only_and_has_typed_input_and_output(client: Client) -> None:
    tools = with_client(build_mcp(client), lambda connected: connected.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        hints = tool.annotations
        assert hints and hints.read_only_hint and hints.idempotent_hint and hints.open_world_hint is False
        assert tool.output_schema and tool.output_schema["type"] == "object"
        assert all("description" in each for each in tool.input_schema["properties"].values())
    assert next(tool for tool in tools if tool.name == "search").input_schema["required"] == ["question"]


def test_search_has_the_evidence_that_the_client_has_in_its_order(client: Client) -> None:
    """The pages of an answer together are the result in process, for a request of the same budget."""

    async def all_pages(connected: McpClient) -> list[list[dict[str, Any]]]:
        return [await pages(connected, question) for question in QUESTIONS]

    for question, answers in zip(QUESTIONS, with_client(build_mcp(client), all_pages), strict=True):
        expected = client.search(question, budget_tokens=6_000)
        segments = [segment for answer in answers for segment in answer["segments"]]
        cited = [citation["id"] for answer in answers for citation in answer["citations"]]
        assert [segment["text"] for segment in segments] == [segment.text for segment in expected.segments]
        assert all(each.id.startswith(got["id"]) for got, each in zip(segments, expected.segments, strict=True))
        wanted = [id for segment in expected.segments for id in segment.citations]
        assert all(id.startswith(got) for got, id in zip(cited, wanted, strict=True))
        assert answers[0]["verdict"] == expected.coverage.verdict
        assert answers[0]["run_id"] == expected.run_id
        assert all(segment["untrusted"] for segment in segments)


def test_quotes_are_the_segments_text_or_a_range_of_it(client: Client) -> None:
    for question in QUESTIONS[:8]:
        expected = {citation.id[:21]: citation.quote for citation in client.search(question).citations}
        answer = call(build_mcp(client), "search", question=question).structured_content
        for segment in answer["segments"]:
            for citation in (each for each in answer["citations"] if each["id"] in segment["citations"]):
                text = segment["text"][citation.get("start") : citation.get("end")]
                assert citation.get("quote", text) == expected[citation["id"]]


@pytest.mark.parametrize("budget", [500, 700, 1_000, 2_000, 4_000, 6_000, 8_000])
def test_an_answer_is_inside_its_budget_as_a_whole(client: Client, budget: int) -> None:
    async def ask(connected: McpClient) -> list[Any]:
        asked = [{"question": each, "budget_tokens": budget, "k": 20} for each in ("smugglers", *QUESTIONS[:6])]
        return [await connected.call_tool("search", each) for each in asked]

    for result in with_client(build_mcp(client), ask):
        assert not result.is_error, result.content
        assert result.structured_content["segments"]
        assert tokens(result) <= budget


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=st.text(max_size=300), budget=st.integers(500, 8_000), k=st.integers(1, 40))
def test_any_question_is_answered_inside_any_budget_or_refused_for_it(
    client: Client, question: str, budget: int, k: int
) -> None:
    result = call(build_mcp(client), "search", question=question, budget_tokens=budget, k=k)
    if result.is_error:
        assert error_of(result)["code"] == "budget_exceeded"
    else:
        assert tokens(result) <= budget


def test_hostile_arguments_are_typed_errors_and_the_server_lives_on(client: Client) -> None:
    async def attack(connected: McpClient) -> list[Any]:
        results = [await connected.call_tool(name, arguments) for name, arguments in HOSTILE]
        assert not (await connected.call_tool("search", {"question": "mooring"})).is_error
        return results

    for (name, arguments), result in zip(HOSTILE, with_client(build_mcp(client), attack), strict=True):
        error = error_of(result)
        assert error["code"] in {"invalid_request", "not_found", "provider_unavailable"}, (name, arguments, error)
        assert "Traceback" not in error["message"] and "pydantic" not in error["message"]


def test_a_crash_tells_its_caller_nothing(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: Any, **__: Any) -> None:
        raise RuntimeError("the canary of /home/secret")

    monkeypatch.setattr(Client, "search", crash)
    result = call(build_mcp(client), "search", question="x")
    assert error_of(result)["code"] == "unexpected"
    assert "canary" not in result.content[0].text


def test_a_cited_place_is_looked_up_and_verified_by_what_the_answer_gives(client: Client) -> None:
    async def follow(connected: McpClient) -> None:
        found = (await connected.call_tool("search", {"question": "MOOR-4711"})).structured_content
        assert found
        citation = found["citations"][0]
        reference = f"{found['run_id']}#{citation['id']}"
        checked = await connected.call_tool("verify_citation", {"citation": reference})
        assert checked.structured_content and checked.structured_content["holds"]
        unit = await connected.call_tool("get_evidence", {"id": citation["units"][0]})
        assert unit.structured_content and unit.structured_content["evidence"]["untrusted"]
        whole = client.replay(found["run_id"]).citations[0]
        altered = json.loads(whole.model_dump_json()) | {"quote": whole.quote.replace("north", "south")}
        checked = await connected.call_tool("verify_citation", {"citation": altered})
        assert checked.structured_content and not checked.structured_content["holds"]
        again = await connected.call_tool("replay", {"run_id": found["run_id"]})
        assert again.structured_content == found

    with_client(build_mcp(client), follow)


def test_an_outline_leads_to_each_part_of_a_source(client: Client) -> None:
    """Its entries are the headings in reading order, and the unit of each is where that part begins."""
    target = build_mcp(client)
    outlined = call(target, "outline", source="long.md").structured_content["outline"]
    assert [entry["heading_path"] for entry in outlined["entries"]] == [[f"Part {n}"] for n in range(30)]
    entry = outlined["entries"][7]
    begins = client.evidence(entry["first_unit_id"])
    assert isinstance(begins, UnitEvidence)
    assert begins.text == "# Part 7"
    assert begins.locator.lines == tuple(entry["lines"])


def test_resources_show_the_workspace_but_not_where_it_lies(client: Client) -> None:
    async def read(connected: McpClient) -> None:
        overview = (await connected.read_resource("tychora://workspace")).contents[0].text  # type: ignore[union-attr]
        assert json.loads(overview)["collections"] == {"public": 8, "vault": 2}
        assert str(client.url) not in overview
        listed = json.loads((await connected.read_resource("tychora://sources")).contents[0].text)  # type: ignore[union-attr]
        assert listed["total"] == 10
        with pytest.raises(MCPError) as refused:
            await connected.read_resource("tychora://nothing")
        assert refused.value.error.data["error"]["code"] == "not_found"

    with_client(build_mcp(client), read)


def test_a_callers_scope_narrows_every_tool(client: Client) -> None:
    """The scope is asked on each call, so one server serves callers with different rights."""
    allowed: list[frozenset[str] | None] = [None]
    server = build_mcp(client, lambda: allowed[0])
    secret = call(server, "search", question="vault code 9981").structured_content
    unit = secret["citations"][0]["units"][0]
    reference = f"{secret['run_id']}#{secret['citations'][0]['id']}"
    citation = json.loads(client.replay(secret["run_id"]).citations[0].model_dump_json())
    allowed[0] = frozenset({"public"})

    async def narrowed(connected: McpClient) -> None:
        found = (await connected.call_tool("search", {"question": "vault code 9981"})).structured_content
        assert found and {segment["collection"] for segment in found["segments"]} == {"public"}
        wider = await connected.call_tool("search", {"question": "x", "collection": ["public", "vault"]})
        assert error_of(wider)["code"] == "access_denied"
        assert error_of(await connected.call_tool("get_evidence", {"id": unit}))["code"] == "not_found"
        assert error_of(await connected.call_tool("get_evidence", {"id": secret["snapshot_id"]}))["code"] == "not_found"
        assert error_of(await connected.call_tool("replay", {"run_id": secret["run_id"]}))["code"] == "access_denied"
        assert (
            error_of(await connected.call_tool("verify_citation", {"citation": reference}))["code"] == "access_denied"
        )
        checked = (await connected.call_tool("verify_citation", {"citation": citation})).structured_content
        assert checked and not checked["holds"] and "9981" not in json.dumps(checked)
        listed = (await connected.call_tool("list_sources", {})).structured_content
        assert listed and {source["collection"] for source in listed["sources"]} == {"public"}
        asked = await connected.call_tool("list_sources", {"collection": "vault"})
        assert error_of(asked)["code"] == "access_denied"
        overview = (await connected.read_resource("tychora://workspace")).contents[0].text  # type: ignore[union-attr]
        assert "vault" not in overview
        again = await connected.call_tool("replay", {"run_id": found["run_id"]})
        assert again.structured_content == found

    with_client(server, narrowed)
    allowed[0] = frozenset()
    assert error_of(call(server, "search", question="x"))["code"] == "access_denied"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    """A workspace to change: thirty notes that all answer the same question."""
    monkeypatch.setenv("TYCHORA_PARSE_WORKERS", "1")
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(30):
        text = f"# Note {number}\n\n" + f"The pilot boat of berth {number} leaves at dawn. " * 12
        (notes / f"note-{number:02}.md").write_text(text)
    made = Client.create(tmp_path / "workspace")
    made.add(notes)
    return made


def test_cursors_stay_on_their_snapshot_while_the_workspace_moves_on(own: Client, tmp_path: Path) -> None:
    question = "When does the pilot boat leave?"
    before = [segment.text for segment in own.search(question, 20, budget_tokens=2_000).segments]
    listed_before = [source.path for source in own.sources()]

    async def follow(connected: McpClient) -> tuple[list[str], list[str]]:
        asked = {"question": question, "k": 20, "budget_tokens": 2_000}
        first = (await connected.call_tool("search", asked)).structured_content
        rows = (await connected.call_tool("list_sources", {})).structured_content
        assert first and rows and "next_cursor" in first
        (tmp_path / "more").mkdir()
        for number in range(5):
            (tmp_path / "more" / f"a-{number}.md").write_text(f"# New {number}\n\nThe pilot boat leaves at noon.\n")
        own.add(tmp_path / "more")
        rest = await pages(connected, question, cursor=first["next_cursor"], budget_tokens=2_000)
        segments = [segment["text"] for answer in (first, *rest) for segment in answer["segments"]]
        listed = [source["path"] for source in rows["sources"]]
        while "next_cursor" in rows:
            following = await connected.call_tool("list_sources", {"cursor": rows["next_cursor"]})
            assert following.structured_content
            rows = following.structured_content
            listed += [source["path"] for source in rows["sources"]]
        return segments, listed

    segments, listed = with_client(build_mcp(own), follow)
    assert segments == before
    assert listed == listed_before


def test_a_cursor_belongs_to_its_question(own: Client) -> None:
    async def mix(connected: McpClient) -> Any:
        first = await connected.call_tool("search", {"question": "pilot boat", "k": 20, "budget_tokens": 1_500})
        assert first.structured_content
        cursor = first.structured_content["next_cursor"]
        return await connected.call_tool("search", {"question": "something else", "cursor": cursor})

    assert error_of(with_client(build_mcp(own), mix))["code"] == "invalid_request"


def test_a_withdrawn_source_is_gone_at_the_next_call_and_in_the_next_page(own: Client) -> None:
    async def withdraw_between(connected: McpClient) -> None:
        asked = {"question": "pilot boat of berth", "k": 20, "budget_tokens": 2_000}
        first = (await connected.call_tool("search", asked)).structured_content
        assert first
        gone = own.replay(first["run_id"]).segments[-1].source.path
        own.manage.withdraw(gone, reason="test")
        rest = await pages(connected, asked["question"], cursor=first["next_cursor"], budget_tokens=2_000)
        assert gone not in {segment["path"] for answer in rest for segment in answer["segments"]}
        again = await connected.call_tool("replay", {"run_id": first["run_id"]})
        assert gone not in again.content[0].text
        listed = await connected.call_tool("list_sources", {})
        assert gone not in listed.content[0].text

    with_client(build_mcp(own), withdraw_between)


def test_over_stdio_and_http_the_answers_are_the_same_as_in_process(client: Client) -> None:
    """A real process and a real port of loopback, each with the SDK's client."""

    async def ask(connected: McpClient) -> tuple[list[str], list[Any]]:
        names = sorted(tool.name for tool in (await connected.list_tools()).tools)
        results = [await connected.call_tool("search", {"question": question}) for question in QUESTIONS[:5]]
        failed = await connected.call_tool("get_evidence", {"id": "unit_00000000"})
        return names, [*(result.structured_content for result in results), error_of(failed)]

    expected = with_client(build_mcp(client), ask)
    assert with_client(stdio(Path(str(client.url))), ask) == expected
    with endpoint(client) as url:
        assert with_client(url, ask) == expected


def test_a_scope_set_around_the_endpoint_reaches_the_tools(client: Client) -> None:
    """A context variable that a layer around the app sets for one request holds in that request's tool call."""
    allowed: ContextVar[frozenset[str] | None] = ContextVar("allowed", default=frozenset())

    def wrap(app: Any) -> Any:
        async def wrapped(scope: Any, receive: Any, send: Any) -> None:
            named = dict(scope.get("headers", ())).get(b"x-collection", b"").decode()
            token = allowed.set(frozenset({named}) if named else frozenset())
            try:
                await app(scope, receive, send)
            finally:
                allowed.reset(token)

        return wrapped

    with endpoint(client, allowed.get, wrap) as url:
        for name in ("public", "vault", "public"):
            answer = posted(url, "search", {"question": "vessel"}, {"X-Collection": name})
            segments = answer["result"]["structuredContent"]["segments"]
            assert {segment["collection"] for segment in segments} == {name}
        assert posted(url, "search", {"question": "vessel"}, {})["result"]["isError"]


def posted(url: str, tool: str, arguments: dict[str, Any], headers: dict[str, str]) -> Any:
    """The answer to a call of a tool as plain JSON-RPC."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def test_a_plain_post_gets_one_json_answer_and_a_foreign_host_none(client: Client) -> None:
    with endpoint(client) as url:
        answer = posted(url, "search", {"question": "MOOR-4711"}, {})
        assert "MOOR-4711" in answer["result"]["structuredContent"]["segments"][0]["text"]
        with pytest.raises(urllib.error.HTTPError) as refused:
            posted(url, "search", {"question": "x"}, {"Host": "evil.example"})
        assert refused.value.code == 421
        refused.value.close()


def test_standard_output_carries_protocol_only(client: Client) -> None:
    """Also where lines are no messages, tools fail, and the input just ends."""
    opening = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    lines = [
        json.dumps(opening),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        "no message at all",
        *(
            json.dumps(
                {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name, "arguments": given}}
            )
            for n, (name, given) in enumerate(HOSTILE[:12], start=2)
        ),
    ]
    running = subprocess.Popen(
        command(Path(client.url)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert running.stdin and running.stdout
    running.stdin.write("".join(f"{line}\n" for line in lines).encode())
    running.stdin.flush()
    answered: set[int] = set()
    while len(answered) < 13 and (line := running.stdout.readline()):
        message = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if isinstance(message.get("id"), int):
            answered.add(message["id"])
    running.stdin.close()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in running.stdout)
    running.stdout.close()
    assert running.wait(30) == 0
    assert answered == set(range(1, 14))


def test_a_configuration_names_the_command_or_the_endpoint_with_a_place_for_the_key() -> None:
    started = mcp_config("/data/workspace")["mcpServers"]["tychora"]
    assert [started["command"], *started["args"]] == ["tychora", "serve", "/data/workspace", "--mcp-stdio"]
    reached = mcp_config("", url="https://evidence.example/")["mcpServers"]["tychora"]
    assert reached["url"] == "https://evidence.example/mcp"
    assert KEY_PLACEHOLDER in reached["headers"]["Authorization"]
