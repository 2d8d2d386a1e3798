"""What the verbs share: the client of a command line, its settings, and how a report is written."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tychora_client.cli.output import Outcome, as_json
from tychora_client.client import Client
from tychora_client.render.ansi import Style
from tychora_schemas.errors import InvalidRequest

__all__ = ["client_of", "pairs", "settings_of", "shown"]

Report = TypeVar("Report")


def client_of(options: Namespace) -> Client:
    """The client of the workspace that a command line names."""
    return Client(options.workspace, **settings_of(options))


def settings_of(options: Namespace) -> dict[str, Any]:
    """`--set` values, read as JSON where they are JSON, else as text."""
    return {key: _value(value) for key, value in pairs("--set", options.settings)}


def shown(report: Report, machine: bool, text: Callable[[Report, Style], str], code: int = 0) -> Outcome:
    """A report as JSON or as text, and the exit code that goes with it."""
    return Outcome(as_json(report) if machine else text(report, Style.of(sys.stdout)), code)


def pairs(option: str, words: Iterable[str]) -> list[tuple[str, str]]:
    """`KEY=VALUE` words, taken apart. Raises InvalidRequest naming the option and the word that is none."""
    found = []
    for word in words:
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise InvalidRequest(f"{option} {word!r} is no KEY=VALUE", next_step=f"write {option} {key or 'KEY'}=VALUE")
        found.append((key, value))
    return found


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
