"""What can be asked on the command line.

base      what every verb's arguments are made of
asking    init, add, search, inspect, verify
copies    pack, unpack, sync, tag, prove, check-proof
upkeep    manage …
serving   serve
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from tychora_client.cli.arguments.asking import add_asking
from tychora_client.cli.arguments.base import Parser, UsageError
from tychora_client.cli.arguments.copies import add_copies
from tychora_client.cli.arguments.serving import add_serving
from tychora_client.cli.arguments.upkeep import add_upkeep

__all__ = ["UsageError", "build_parser", "wants_json"]

EXIT_CODES = """\
exit codes:
  0 done                  1 unexpected           2 usage                 3 not found
  4 invalid input         5 access denied        6 conflict              7 corrupt workspace
  8 provider unavailable  9 partly done          10 busy                 11 budget exceeded
  130 interrupted
"""


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: reading package metadata costs more than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib import metadata

        print(f"tychora {metadata.version('tychora')}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser of every verb. It raises UsageError instead of leaving the process."""
    parser = Parser(
        prog="tychora",
        description="Documents and code in one portable bundle; questions answered with exact, cited evidence.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=Parser)
    add_asking(verbs)
    add_copies(verbs)
    add_upkeep(verbs)
    add_serving(verbs)
    return parser


def wants_json(words: Sequence[str], terminal: bool) -> bool:
    """Whether stdout is to be JSON. Told from the words alone, for errors that come before they are understood."""
    chosen = None
    for number, word in enumerate(words):
        if word == "--":
            break
        if word == "--json":
            return True
        if word.startswith("--format="):
            chosen = word.removeprefix("--format=")
        elif word == "--format" and number + 1 < len(words):
            chosen = words[number + 1]
    return chosen == "json" if chosen else not terminal
