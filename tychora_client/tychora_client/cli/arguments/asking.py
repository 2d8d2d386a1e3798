"""What can be asked on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

__all__ = ["FORMATS", "INSPECTIONS", "UsageError", "build_parser", "wants_json"]

FORMATS = ("json", "markdown", "agent", "text")
INSPECTIONS = ("log", "sources", "config", "jobs")

EXIT_CODES = """\
exit codes:
  0 done                  1 unexpected           2 usage                 3 not found
  4 invalid input         5 access denied        6 conflict              7 corrupt workspace
  8 provider unavailable  9 partly done          10 busy                 11 budget exceeded
  130 interrupted
"""


class UsageError(Exception):
    """The command line itself is wrong. Its text is the message; `usage` shows the right form."""

    def __init__(self, message: str, usage: str) -> None:
        super().__init__(message)
        self.usage = usage


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage().strip())


class _Version(argparse.Action):
    """Looks the version up only when it is asked for: reading package metadata costs more than all the rest."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        from importlib import metadata

        print(f"tychora {metadata.version('tychora')}")
        parser.exit()


def build_parser() -> argparse.ArgumentParser:
    """The parser of every verb. It raises UsageError instead of leaving the process."""
    parser = _Parser(
        prog="tychora",
        description="Documents and code in one portable bundle; questions answered with exact, cited evidence.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and leave")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True, parser_class=_Parser)
    _init(verbs)
    _add(verbs)
    _search(verbs)
    _inspect(verbs)
    _verify(verbs)
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


def _verb(verbs: argparse._SubParsersAction[_Parser], name: str, help: str, description: str) -> _Parser:
    parser = verbs.add_parser(name, help=help, description=description, allow_abbrev=False)
    parser.add_argument("workspace", metavar="WORKSPACE", help="a directory or an s3:// URL")
    parser.add_argument("--json", action="store_true", help="JSON on stdout, as when it is no terminal")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    parser.add_argument(
        "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[],
        help="a setting for this run (repeatable); `inspect WORKSPACE config` lists them",
    )  # fmt: skip
    return parser


def _init(verbs: argparse._SubParsersAction[_Parser]) -> None:
    parser = _verb(
        verbs, "init", "make an empty workspace", "Make an empty workspace. Settings given with --set stay with it."
    )
    parser.add_argument("--profile", default="documents", metavar="NAME", help="documents (default), code or verified")


def _add(verbs: argparse._SubParsersAction[_Parser]) -> None:
    parser = _verb(
        verbs,
        "add",
        "bring files and folders into a workspace",
        "Read files and folders into the workspace. Adding a folder again syncs it: new, changed, moved, gone files.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, or a folder to walk")
    parser.add_argument("--collection", default="default", metavar="NAME", help="the collection they belong to")
    parser.add_argument("--name", metavar="NAME", help="what the folder is called in the paths of its sources")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be captured, and what cannot be")


def _search(verbs: argparse._SubParsersAction[_Parser]) -> None:
    parser = _verb(
        verbs, "search", "ask for evidence", "Find the evidence for a question, cited to page, line or cell."
    )
    parser.add_argument("question", metavar="QUESTION", help="any text; - reads it from stdin")
    parser.add_argument("-k", type=int, default=8, metavar="N", help="passages wanted (8)")
    parser.add_argument(
        "--at", default="main", metavar="REF", help="main, main~2, a date, a tag or the start of a snapshot's hash"
    )
    parser.add_argument(
        "--filter", dest="filters", metavar="KEY=VALUE", action="append", default=[],
        help="collection, kind, path (a pattern) or language; repeatable: alternatives of one key, all keys must hold",
    )  # fmt: skip
    parser.add_argument(
        "--budget-tokens", type=int, metavar="N", help="most tokens of evidence; of all, with --format agent"
    )
    parser.add_argument("--format", choices=FORMATS, help="text on a terminal, json elsewhere, unless chosen")
    parser.add_argument("--trace", action="store_true", help="say how each stage came to its result (JSON)")
    parser.add_argument("--strict", action="store_true", help="fail when a channel fails, instead of warning")


def _inspect(verbs: argparse._SubParsersAction[_Parser]) -> None:
    parser = _verb(
        verbs,
        "inspect",
        "see what a workspace holds",
        "Counts, sizes and the newest snapshot; or the log, the sources, the settings and their origins, what is "
        "prepared but not committed; or what an id names: unit_…, source_…, revision_…, run_…, a snapshot's hash.",
    )
    parser.add_argument(
        "subjects", metavar="log|sources|config|jobs|ID", nargs="*", default=[], help="nothing: counts and sizes"
    )
    parser.add_argument("--at", default="main", metavar="REF", help="the snapshot to look at")
    parser.add_argument("--collection", metavar="NAME", help="only sources of this collection")
    parser.add_argument("--state", choices=("indexed", "held", "quarantined"), help="only sources in this state")


def _verify(verbs: argparse._SubParsersAction[_Parser]) -> None:
    parser = _verb(
        verbs,
        "verify",
        "check every file",
        "Check every file that the history of this place reaches, and all that must hold.",
    )
    parser.add_argument("--sample", type=float, default=1.0, metavar="SHARE", help="check this share of it, 0 to 1 (1)")
