"""The verbs that fill a workspace and ask it: init, add, search, inspect, verify."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tychora_client.cli.arguments.asking import INSPECTIONS
from tychora_client.cli.failures import INTERRUPTED
from tychora_client.cli.output import Outcome, as_json, write
from tychora_client.cli.verbs.base import client_of, pairs, settings_of, shown
from tychora_client.client import Client
from tychora_client.progress import ProgressLine
from tychora_client.render.ansi import Style
from tychora_client.render.safe import safe_line
from tychora_schemas.errors import PARTLY_DONE, CorruptWorkspace, InvalidRequest, NotFound
from tychora_schemas.result import QueryResult

__all__ = ["add", "init", "inspect", "search", "verify"]

RUN = "run_"


def init(options: Namespace, machine: bool) -> Outcome:
    """Make an empty workspace."""
    with Client.create(options.workspace, options.profile, settings_of(options)) as client:
        marker = client.workspace.marker
        if machine:
            made = {"url": client.workspace.store.url, "workspace_id": marker.workspace_id, "profile": marker.profile}
            return Outcome(as_json(made))
        style = Style.of(sys.stdout)
        name = safe_line(shlex.quote(client.url))
        made_line = f"made {style('bold', name)} (profile {marker.profile})"
        return Outcome(f"{made_line}\n{style('dim', 'next:')} tychora add {name} PATH\n")


def add(options: Namespace, machine: bool) -> Outcome:
    """Bring files in, or say what that would do."""
    from tychora_client.render import reports

    line = ProgressLine(sys.stderr)
    asked = {"collection": options.collection, "name": options.name, "progress": line}
    with client_of(options) as client:
        try:
            report = client.add(options.paths, dry_run=options.dry_run, **asked)
        finally:
            line.close()
    from tychora_schemas.receipts import AddReport

    if not isinstance(report, AddReport):
        return Outcome(as_json(report) if machine else reports.inventory(report, Style.of(sys.stdout)))
    code = INTERRUPTED if report.interrupted else PARTLY_DONE if report.quarantined else 0
    if not machine:
        return Outcome(reports.added(report, Style.of(sys.stdout)), code)
    if code or sys.stderr.isatty():
        write(sys.stderr, reports.added(report, Style.of(sys.stderr)))
    return Outcome(as_json(report), code)


def search(options: Namespace, machine: bool) -> Outcome:
    """Ask for evidence."""
    question = _question(options.question)
    with client_of(options) as client:
        result = client.search(
            question,
            options.k,
            at=options.at,
            filters=_filters(options.filters),
            budget_tokens=options.budget_tokens,
            trace=options.trace,
            strict=options.strict,
        )
    return _shown(result, "json" if machine else options.format or "text", question, options.budget_tokens)


def _shown(result: QueryResult, form: str, question: str = "", budget_tokens: int | None = None) -> Outcome:
    if form == "json":
        return Outcome(as_json(result))
    if form == "markdown":
        from tychora_client.render.markdown import markdown

        return Outcome(markdown(result, question))
    if form == "agent":
        from tychora_client.render.agent import agent

        return Outcome(agent(result, budget_tokens))
    from tychora_client.render.text import text

    return Outcome(text(result, Style.of(sys.stdout)))


def inspect(options: Namespace, machine: bool) -> Outcome:
    """Show what a workspace holds, or what an id names."""
    from tychora_client.render import tables

    subjects = options.subjects
    if subjects and subjects[0] == "diff":
        return _difference(options, machine)
    if any(subject in INSPECTIONS for subject in subjects) and len(subjects) > 1:
        raise InvalidRequest(
            f"{' and '.join(subjects)} are not shown together",
            next_step=f"ask for one of {', '.join(INSPECTIONS)}, or for ids",
        )
    if subjects == ["mcp-config"]:
        from tychora_client.server.mcp import mcp_config

        with client_of(options) as client:
            client.workspace  # noqa: B018 - a workspace that is not there is said now, not to the agent
            return Outcome(as_json(mcp_config(_absolute(client.url))))
    style = Style.of(sys.stdout)
    with client_of(options) as client:
        found: Any
        show: Callable[[Any, Style], str]
        match subjects:
            case []:
                found, show = client.inspect(), tables.overview
            case ["log"]:
                found, show = client.log(), tables.history
            case ["sources"]:
                found, show = client.sources(options.collection, options.state, options.at), tables.sources
            case ["config"]:
                found, show = client.configuration(), tables.configuration
            case ["jobs"]:
                found, show = client.jobs(), tables.jobs
            case ["statements"]:
                from tychora_client.render.statements import statements

                found, show = client.statements(), statements
            case [run_id] if run_id.startswith(RUN):
                return _shown(client.replay(run_id), "json" if machine else "text")
            case ids:
                _refuse_misspelt(ids)
                several = [client.evidence(each, options.at) for each in ids]
                if machine:
                    return Outcome(as_json(several if len(ids) > 1 else several[0]))
                return Outcome("\n".join(tables.evidence(each, style) for each in several))
    return Outcome(as_json(found) if machine else show(found, style))


def _absolute(place: str) -> str:
    """A place as it is called from any folder: an agent starts its servers wherever it likes."""
    return place if "://" in place else str(Path(place).expanduser().absolute())


def _refuse_misspelt(ids: Iterable[str]) -> None:
    from difflib import get_close_matches

    for each in ids:
        if near := get_close_matches(each, INSPECTIONS, 1):
            raise InvalidRequest(f"{each!r} is no id", next_step=f"did you mean {near[0]}?")


def _difference(options: Namespace, machine: bool) -> Outcome:
    from tychora_client.render.difference import difference

    if not 2 <= len(options.subjects) <= 3:
        raise InvalidRequest("diff compares two snapshots", next_step="write diff A B, or diff A for the newest one")
    questions = [*options.questions, *(_lines(options.file) if options.file else ())]
    before, after = [*options.subjects[1:], "main"][:2]
    with client_of(options) as client:
        return shown(client.difference(before, after, questions), machine, difference)


def _lines(file: str) -> list[str]:
    """The questions of a file, one a line, or one JSON object with a `question` a line; empty lines are left out."""
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise NotFound(f"the questions in {file} cannot be read: {error}", next_step="check the path") from error
    return [_asked(line) for line in lines if line.strip()]


def _asked(line: str) -> str:
    if line.lstrip().startswith("{"):
        with suppress(ValueError, KeyError, TypeError):
            return str(json.loads(line)["question"])
    return line.strip()


def verify(options: Namespace, machine: bool) -> Outcome:
    """Check every file, and repair what can be repaired where that is asked for."""
    from tychora_client.render.reports import verified

    if options.other and not options.repair:
        raise InvalidRequest("--from goes with --repair", next_step="add --repair, or leave --from out")
    line = ProgressLine(sys.stderr)
    with client_of(options) as client:
        try:
            report = client.verify(options.sample, repair=options.repair, other=options.other, progress=line)
        finally:
            line.close()
    return shown(report, machine, verified, 0 if report.ok else CorruptWorkspace.exit_code)


def _filters(words: Iterable[str]) -> dict[str, list[str]]:
    filters: dict[str, list[str]] = {}
    for key, value in pairs("--filter", words):
        filters.setdefault(key, []).append(value)
    return filters


def _question(word: str) -> str:
    """The question as text; bytes of it that are no UTF-8 are replaced, so that it can be written down."""
    data = sys.stdin.buffer.read() if word == "-" else word.encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "replace").strip()
