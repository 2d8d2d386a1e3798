"""What each verb does: ask the client, choose the shape of the answer, and its exit code."""

from __future__ import annotations

from argparse import Namespace
from importlib import import_module

from tychora_client.cli.output import Outcome

__all__ = ["run"]

ROOMS = {
    "asking": ("init", "add", "search", "inspect", "verify"),
    "copies": ("sync", "pack", "unpack", "tag", "prove", "check-proof"),
    "upkeep": ("manage",),
    "serving": ("serve",),
}
"""The module of each verb: a search does not load what a sync needs."""


def run(options: Namespace, machine: bool) -> Outcome:
    """Run the verb of a parsed command line; `machine` asks for JSON. Raises TychoraError."""
    room = next(room for room, verbs in ROOMS.items() if options.verb in verbs)
    verb = getattr(import_module(f"{__name__}.{room}"), options.verb.replace("-", "_"))
    outcome: Outcome = verb(options, machine)
    return outcome
