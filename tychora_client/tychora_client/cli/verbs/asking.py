"""What each verb does: ask the client, choose the shape of the answer, and its exit code."""

from __future__ import annotations

import json
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import Any

from tychora_client.cli.arguments import INSPECTIONS
from tychora_client.cli.failures import INTERRUPTED
from tychora_client.cli.output import Outcome, as_json, write
from tychora_client.client import Client
from tychora_client.progress import ProgressLine
from tychora_client.render.ansi import Style
from tychora_client.render.safe import safe_line
from tychora_schemas.errors import PARTLY_DONE, CorruptWorkspace, InvalidRequest
from tychora_schemas.result import QueryResult

__all__ = ["run"]

RUN = "run_"


def run(options: Namespace, machine: bool) -> Outcome:
    """Run the verb of a parsed command line; `machine` asks for JSON. Raises TychoraError."""
    return VERBS[options.verb](options, machine)


def _init(options: Namespace, machine: bool) -> Outcome:
    with Client.create(options.workspace, options.profile, _settings(options)) as client:
        marker = client.workspace.marker
        if machine:
            made = {"url": client.workspace.store.url, "workspace_id": marker.workspace_id, "profile": marker.profile}
            return Outcome(as_json(made))
        style = Style.of(sys.stdout)
        name = safe_line(shlex.quote(client.url))
        made_line = f"made {style('bold', name)} (profile {marker.profile})"
        return Outcome(f"{made_line}\n{style('dim', 'next:')} tychora add {name} PATH\n")


def _add(options: Namespace, machine: bool) -> Outcome:
    from tychora_client.render import reports

    line = ProgressLine(sys.stderr)
    asked = {"collection": options.collection, "name": options.name, "progress": line}
    with _client(options) as client:
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


def _search(options: Namespace, machine: bool) -> Outcome:
    question = _question(options.question)
    with _client(options) as client:
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


def _inspect(options: Namespace, machine: bool) -> Outcome:
    from tychora_client.render import tables

    subjects = options.subjects
    if any(subject in INSPECTIONS for subject in subjects) and len(subjects) > 1:
        raise InvalidRequest(
            f"{' and '.join(subjects)} are not shown together",
            next_step=f"ask for one of {', '.join(INSPECTIONS)}, or for ids",
        )
    style = Style.of(sys.stdout)
    with _client(options) as client:
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
            case [run_id] if run_id.startswith(RUN):
                return _shown(client.replay(run_id), "json" if machine else "text")
            case ids:
                several = [client.evidence(each, options.at) for each in ids]
                if machine:
                    return Outcome(as_json(several if len(ids) > 1 else several[0]))
                return Outcome("\n".join(tables.evidence(each, style) for each in several))
    return Outcome(as_json(found) if machine else show(found, style))


def _verify(options: Namespace, machine: bool) -> Outcome:
    from tychora_client.render.reports import verified

    line = ProgressLine(sys.stderr)
    with _client(options) as client:
        try:
            report = client.verify(options.sample, progress=line)
        finally:
            line.close()
    code = 0 if report.ok else CorruptWorkspace.exit_code
    return Outcome(as_json(report) if machine else verified(report, Style.of(sys.stdout)), code)


VERBS: dict[str, Callable[[Namespace, bool], Outcome]] = {
    "init": _init,
    "add": _add,
    "search": _search,
    "inspect": _inspect,
    "verify": _verify,
}


def _client(options: Namespace) -> Client:
    return Client(options.workspace, **_settings(options))


def _settings(options: Namespace) -> dict[str, Any]:
    """`--set` values, read as JSON where they are JSON, else as text."""
    return {key: _value(value) for key, value in _pairs("--set", options.settings)}


def _filters(words: Iterable[str]) -> dict[str, list[str]]:
    filters: dict[str, list[str]] = {}
    for key, value in _pairs("--filter", words):
        filters.setdefault(key, []).append(value)
    return filters


def _pairs(option: str, words: Iterable[str]) -> list[tuple[str, str]]:
    pairs = []
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise InvalidRequest(f"{option} {word!r} is no KEY=VALUE", next_step=f"write {option} {key or 'KEY'}=VALUE")
        pairs.append((key, value))
    return pairs


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _question(word: str) -> str:
    """The question as text; bytes of it that are no UTF-8 are replaced, so that it can be written down."""
    data = sys.stdin.buffer.read() if word == "-" else word.encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "replace").strip()
