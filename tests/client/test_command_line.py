"""The command line, run as a process: exit codes, what goes to stdout and what to stderr."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from library_files import pdf
from running import Run

from tychora_client import Client
from tychora_client.cli.arguments import build_parser, wants_json
from tychora_schemas.receipts import AddReport, InventoryReport, VerifyReport, WorkspaceOverview
from tychora_schemas.result import QueryResult


def error_of(out: bytes) -> dict[str, str]:
    error: dict[str, str] = json.loads(out)["error"]
    assert set(error) == {"code", "message", "next_step"}
    return error


def test_init_add_search_inspect_verify_from_nothing(process: Run, library: Path) -> None:
    made = process("init", "w")
    assert made.code == 0
    assert json.loads(made.out)["profile"] == "documents"
    added = process("add", "w", library)
    assert added.code == 0, added.err
    report = AddReport.model_validate_json(added.out)
    assert "handbook.md" in {Path(each.path).name for each in report.added}
    found = process("search", "w", "Who confirms the berth?", "-k", "3")
    assert found.code == 0, found.err
    result = QueryResult.model_validate_json(found.out)
    assert any("harbour master" in segment.text for segment in result.segments)
    seen = WorkspaceOverview.model_validate_json(process("inspect", "w").out)
    assert seen.snapshot_id == result.snapshot_id == report.snapshot_id
    verified = process("verify", "w")
    assert verified.code == 0, verified.err
    assert VerifyReport.model_validate_json(verified.out).ok


def test_a_dry_run_says_what_would_happen_and_changes_nothing(tychora: Run, library: Path) -> None:
    tychora("init", "w")
    done = tychora("add", "w", library, "--dry-run")
    assert done.code == 0
    assert len(InventoryReport.model_validate_json(done.out).captured) == 8
    assert json.loads(tychora("inspect", "w", "log").out) == []


def test_quarantined_sources_make_9_and_are_explained_on_stderr(tychora: Run, tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    (folder / "good.txt").write_text("A good text about cranes.")
    (folder / "bad.pdf").write_bytes(b"%PDF-1.7 but nothing else")
    tychora("init", "w")
    done = tychora("add", "w", folder)
    assert done.code == 9
    report = AddReport.model_validate_json(done.out)
    assert [Path(each.path).name for each in report.quarantined] == ["bad.pdf"]
    assert report.quarantined[0].reason
    assert "1 quarantined" in done.err
    assert "bad.pdf" in done.err


@pytest.mark.parametrize(
    ("words", "code", "kind"),
    [
        (["search", "nowhere", "a question"], 3, "not_found"),
        (["inspect", "nowhere"], 3, "not_found"),
        (["search"], 2, "invalid_request"),
        ([], 2, "invalid_request"),
        (["dance", "w"], 2, "invalid_request"),
        (["init", "w2", "--profile", "poems"], 2, "invalid_request"),
        (["search", "W", "a question", "-k", "0"], 2, "invalid_request"),
        (["search", "W", "a question", "-k", "many"], 2, "invalid_request"),
        (["search", "W", "a question", "--filter", "colour=red"], 2, "invalid_request"),
        (["search", "W", "a question", "--filter", "colour"], 2, "invalid_request"),
        (["search", "W", "a question", "--set", "colour=red"], 2, "invalid_request"),
        (["search", "W", "a question", "--at", "main~99"], 3, "not_found"),
        (["inspect", "W", "log", "sources"], 2, "invalid_request"),
        (["inspect", "W", "unit_00000000"], 3, "not_found"),
        (["inspect", "W", "nothing-like-an-id"], 2, "invalid_request"),
        (["inspect", "W", "run_forged"], 2, "invalid_request"),
        (["init", "W"], 6, "conflict"),
        (["search", "https://example.org/w", "a question"], 2, "invalid_request"),
        (["search", "packed.tychora", "a question"], 3, "not_found"),
        (["inspect", "W", "statments"], 2, "invalid_request"),
        (["inspect", "W", "diff"], 2, "invalid_request"),
        (["inspect", "W", "diff", "main~9"], 3, "not_found"),
        (["inspect", "W", "diff", "main", "--questions", "no-such-file"], 3, "not_found"),
        (["verify", "W", "--from", "elsewhere"], 2, "invalid_request"),
        (["sync", "nowhere", "elsewhere"], 3, "not_found"),
        (["sync", "W", "W"], 2, "invalid_request"),
        (["sync", "W", "https://example.org/w"], 2, "invalid_request"),
        (["pack", "W", "no-such-suffix"], 2, "invalid_request"),
        (["pack", "W", "w.tychora", "--history", "-1"], 2, "invalid_request"),
        (["unpack", "nowhere.tychora", "d"], 3, "not_found"),
        (["tag", "W", "main"], 2, "invalid_request"),
        (["tag", "W", "v0", "--delete"], 3, "not_found"),
        (["prove", "W", "unit_00000000"], 3, "not_found"),
        (["prove", "W", "no-such-file"], 3, "not_found"),
        (["check-proof", "no-such-file", "--snapshot", "ab" * 32], 3, "not_found"),
        (["check-proof", "no-such-file"], 2, "invalid_request"),
        (["manage", "W"], 2, "invalid_request"),
        (["manage", "W", "colect"], 2, "invalid_request"),
        (["manage", "W", "collect", "--grace-hours", "-1"], 2, "invalid_request"),
        (["manage", "W", "withdraw", "no-such-source"], 3, "not_found"),
        (["manage", "W", "restore", "no-such-source"], 3, "not_found"),
        (["manage", "W", "delete", "handbook.md"], 2, "invalid_request"),
        (["manage", "W", "delete", "no-such-source", "--yes"], 3, "not_found"),
        (["manage", "W", "policy", "--collection", "default"], 2, "invalid_request"),
        (["manage", "W", "policy", "--retain-days", "30"], 2, "invalid_request"),
        (["manage", "W", "policy", "--collection", "c", "--retain-days", "0"], 2, "invalid_request"),
        (["manage", "W", "policy", "--collection", "c", "--grant", "anna"], 2, "invalid_request"),
        (["manage", "W", "rollback", "main~9"], 3, "not_found"),
        (["add", "W", "no-such-path"], 3, "not_found"),
    ],
)
def test_errors_have_their_exit_code_and_say_what_to_do(
    words: list[str], code: int, kind: str, tychora: Run, workspace: Path
) -> None:
    done = tychora(*(workspace if word == "W" else word for word in words))
    assert done.code == code, done.err
    error = error_of(done.out)
    assert error["code"] == kind
    assert error["next_step"]
    assert "error: " in done.err
    assert "next: " in done.err
    assert "Traceback" not in done.err


def test_an_unexpected_error_is_one_line_and_debug_shows_its_traceback(
    tychora: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def burst(_: object) -> None:
        raise ZeroDivisionError("the boiler\nburst")

    monkeypatch.setattr(Client, "inspect", burst)
    plain = tychora("inspect", "w")
    assert plain.code == 1
    assert error_of(plain.out)["code"] == "unexpected"
    assert plain.err.splitlines()[0].endswith("error: unexpected ZeroDivisionError: the boiler")
    assert "--debug" in plain.err
    assert "Traceback" not in plain.err
    assert "Traceback" in tychora("inspect", "w", "--debug").err


def test_a_damaged_workspace_is_7_on_verify_with_the_file_named(tychora: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Some text about a lighthouse.")
    tychora("init", "w")
    tychora("add", "w", "a.txt")
    victim = next(path for path in (tmp_path / "w" / "batches").rglob("chunks.arrow"))
    victim.chmod(0o644)
    victim.write_bytes(victim.read_bytes()[:-1])
    done = tychora("verify", "w")
    assert done.code == 7
    report = VerifyReport.model_validate_json(done.out)
    assert any("chunks.arrow" in problem.path + problem.note for problem in report.problems)


def test_the_question_can_come_from_stdin_and_may_be_any_bytes(process: Run, workspace: Path) -> None:
    done = process("search", workspace, "-", stdin=b'harbour master \xff\xfe ("\nberth')
    assert done.code == 0, done.err
    assert QueryResult.model_validate_json(done.out).segments
    assert process("search", workspace, b"harbour \xff master").code == 0


def test_filters_settings_and_references_reach_the_search(tychora: Run, workspace: Path) -> None:
    words = [
        "--filter",
        "path=*.md",
        "--filter",
        "path=*.txt",
        "--filter",
        "kind=document",
        "--set",
        "query_fusion=rrf",
    ]
    done = tychora("search", workspace, "berth", *words, "--at", "main", "--trace", "--budget-tokens", "500")
    result = QueryResult.model_validate_json(done.out)
    assert {Path(segment.source.path).suffix for segment in result.segments} <= {".md", ".txt"}
    assert result.budget_contract.tokens == 500
    assert result.trace is not None


def test_formats_for_people_and_agents(tychora: Run, workspace: Path) -> None:
    shown = {
        form: tychora("search", workspace, "Who confirms the berth?", "--format", form).out.decode()
        for form in ("text", "markdown", "agent")
    }
    assert all("harbour master" in each for each in shown.values())
    assert all("lines " in each for each in shown.values())
    assert "\x1b" not in "".join(shown.values())
    assert shown["markdown"].startswith("# Who confirms the berth?\n")


def test_a_format_for_people_gives_no_json_for_an_error(tychora: Run) -> None:
    done = tychora("search", "nowhere", "a question", "--format", "markdown")
    assert done.code == 3
    assert done.out == b""


def test_inspect_shows_an_id_several_ids_and_a_run(tychora: Run, workspace: Path) -> None:
    found = QueryResult.model_validate_json(tychora("search", workspace, "Who confirms the berth?").out)
    unit = found.citations[0].unit_ids[0]
    source = found.segments[0].source.id
    one = json.loads(tychora("inspect", workspace, unit).out)
    assert one["id"] == unit
    assert "bytes" not in one["locator"] or one["locator"]["bytes"]
    assert None not in one["locator"].values()
    two = json.loads(tychora("inspect", workspace, unit, source).out)
    assert [each["type"] for each in two] == ["unit", "source"]
    again = QueryResult.model_validate_json(tychora("inspect", workspace, found.run_id).out)
    assert again.segments == found.segments


@pytest.mark.parametrize("subject", ["log", "sources", "config", "jobs", "statements"])
def test_each_inspection_is_a_json_list(subject: str, tychora: Run, workspace: Path) -> None:
    done = tychora("inspect", workspace, subject)
    assert done.code == 0
    assert isinstance(json.loads(done.out), list)


def test_sources_can_be_narrowed_by_state(tychora: Run, workspace: Path) -> None:
    def listed(*words: str) -> list[Any]:
        found: list[Any] = json.loads(tychora("inspect", workspace, "sources", *words).out)
        return found

    assert len(listed("--state", "indexed")) == 8
    assert listed("--state", "quarantined") == listed("--collection", "other") == []


def test_settings_given_to_init_stay_and_environment_and_flags_win(tychora: Run) -> None:
    tychora("init", "w", "--set", "chunk_target_tokens=300", "--set", "query_budget_tokens=1000")
    done = tychora("inspect", "w", "config", "--set", "families=[]", TYCHORA_QUERY_BUDGET_TOKENS="2000")
    shown = {each["key"]: (each["value"], each["origin"]) for each in json.loads(done.out)}
    assert shown["chunk_target_tokens"] == (300, "workspace")
    assert shown["query_budget_tokens"] == (2000, "environment TYCHORA_QUERY_BUDGET_TOKENS")
    assert shown["families"] == ([], "flags")
    assert shown["parse_seconds"][1] == "default"


def test_a_reader_that_leaves_is_no_error(workspace: Path) -> None:
    command = [sys.executable, "-m", "tychora_client", "inspect", os.fspath(workspace), "sources"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert running.stdout and running.stderr
    running.stdout.close()
    said = running.stderr.read()
    running.stderr.close()
    assert running.wait(60) == 0
    assert said == b""


def test_any_path_is_printable_in_any_encoding(tychora: Run, process: Run, tmp_path: Path) -> None:
    """Names that are no UTF-8, that reorder text or carry escape sequences neither fail nor reach the terminal."""
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in (b"plain \xe4\xb8\xad \xf0\x9f\x9a\xa2.txt", b"escape\x1b[31m.txt", "turn\u202egnp.txt".encode()):
        (folder / os.fsdecode(name)).write_bytes(b"text " + name.hex().encode())
    with suppress(OSError):  # some file systems refuse such names
        (folder / os.fsdecode(b"bytes\xff.txt")).write_bytes(b"text of odd bytes")
    tychora("init", "w")
    shown = [tychora("add", "w", "odd").out]
    for encoding in ("ascii", "utf-8"):
        listed = process("inspect", "w", "sources", PYTHONIOENCODING=encoding)
        assert listed.code == 0, listed.err
        assert len(json.loads(listed.out.decode(encoding))) == len(list(folder.iterdir()))
        searched = process("search", "w", "text", "--format", "text", PYTHONIOENCODING=encoding)
        assert searched.code == 0, searched.err
        shown += [listed.out, searched.out]
    assert b"\x1b" not in b"".join(shown)
    assert "\u202e".encode() not in b"".join(shown)


def test_the_first_ctrl_c_commits_what_was_read_and_exits_130(tychora: Run, tmp_path: Path) -> None:
    """Pages that take a parser a while; interrupted as soon as the first of them was begun."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(200):
        (folder / f"{number:03}.pdf").write_bytes(pdf(*(f"Page {page} of volume {number}." for page in range(12))))
    tychora("init", "w")
    command = [sys.executable, "-m", "tychora_client", "add", "w", "many"]
    running = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (tmp_path / "w" / "objects").is_dir() and running.poll() is None:
        time.sleep(0.01)
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 130
    report = AddReport.model_validate_json(out)
    assert report.interrupted
    assert report.held
    assert len(report.added) + len(report.held) == 200
    assert tychora("verify", "w").code == 0


def test_version_and_help(tychora: Run) -> None:
    assert tychora("--version").out.startswith(b"tychora ")
    shown = tychora("--help").out.decode()
    copies = ["sync", "pack", "unpack", "tag", "prove", "check-proof"]
    for verb in ["init", "add", "search", "inspect", "verify", *copies, "manage"]:
        assert f"\n    {verb}" in shown
        assert tychora(verb, "--help").code == 0
    actions = tychora("manage", "--help").out.decode()
    for action in ["compact", "collect", "withdraw", "restore", "delete", "policy", "expire", "rollback", "upgrade"]:
        assert f"\n    {action} " in actions
        assert tychora("manage", "w", action, "--help").code == 0


@pytest.mark.parametrize(
    ("words", "terminal", "expected"),
    [
        (["search", "w", "q"], True, False),
        (["search", "w", "q"], False, True),
        (["search", "w", "q", "--json"], True, True),
        (["search", "w", "q", "--format", "agent"], False, False),
        (["search", "w", "q", "--format=json"], True, True),
        (["search", "w", "q", "--format", "text", "--json"], True, True),
        (["search", "w", "--", "--json"], True, False),
    ],
)
def test_json_is_for_programs_unless_asked_otherwise(words: list[str], terminal: bool, expected: bool) -> None:
    assert wants_json(words, terminal) is expected


def test_a_workspace_comes_first_and_a_question_may_look_like_an_option() -> None:
    options = build_parser().parse_args(["search", "w", "-k", "3", "--", "--what is this"])
    assert (options.workspace, options.k, options.question) == ("w", 3, "--what is this")
