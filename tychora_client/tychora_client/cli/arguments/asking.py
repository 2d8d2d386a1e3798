"""The verbs that fill a workspace and ask it: init, add, search, inspect, verify."""

from __future__ import annotations

from tychora_client.cli.arguments.base import Parser, Verbs, add_reference, add_verb

__all__ = ["FORMATS", "INSPECTIONS", "add_asking"]

FORMATS = ("json", "markdown", "agent", "text")
INSPECTIONS = ("log", "sources", "config", "jobs", "statements", "diff", "mcp-config")


def add_asking(verbs: Verbs[Parser]) -> None:
    """Add them all."""
    for add in (_init, _add, _search, _inspect, _verify):
        add(verbs)


def _init(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs, "init", "make an empty workspace", "Make an empty workspace. Settings given with --set stay with it."
    )
    parser.add_argument("--profile", default="documents", metavar="NAME", help="documents (default), code or verified")


def _add(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "add",
        "bring files and folders into a workspace",
        "Read files and folders into the workspace. Adding a folder again syncs it: new, changed, moved, gone files.",
    )
    parser.add_argument("paths", metavar="PATH", nargs="+", help="a file, or a folder to walk")
    parser.add_argument("--collection", default="default", metavar="NAME", help="the collection they belong to")
    parser.add_argument("--name", metavar="NAME", help="what the folder is called in the paths of its sources")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be captured, and what cannot be")


def _search(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs, "search", "ask for evidence", "Find the evidence for a question, cited to page, line or cell."
    )
    parser.add_argument("question", metavar="QUESTION", help="any text; - reads it from stdin")
    parser.add_argument("-k", type=int, default=8, metavar="N", help="passages wanted (8)")
    add_reference(parser, "main, main~2, a date, a tag or the start of a snapshot's hash")
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


def _inspect(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "inspect",
        "see what a workspace holds",
        "Counts, sizes and the newest snapshot; or the log, the sources, the settings and their origins, what is "
        "prepared but not committed, the statements in force; or `diff A [B]`: what differs between two snapshots; "
        "or mcp-config: what to paste into the settings of an agent; or "
        "what an id names: unit_…, source_…, revision_…, run_…, a snapshot's hash.",
    )
    parser.add_argument(
        "subjects", metavar="log|sources|config|jobs|statements|diff A [B]|mcp-config|ID", nargs="*", default=[],
        help="nothing: counts and sizes",
    )  # fmt: skip
    add_reference(parser, "the snapshot to look at")
    parser.add_argument("--collection", metavar="NAME", help="only sources of this collection")
    parser.add_argument(
        "--question", dest="questions", metavar="TEXT", action="append", default=[],
        help="with diff: also ask this of both snapshots, and show how the evidence differs (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--questions", dest="file", metavar="FILE", help="with diff: the questions of a file, one a line"
    )
    parser.add_argument("--state", choices=("indexed", "held", "quarantined"), help="only sources in this state")


def _verify(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "verify",
        "check every file",
        "Check every file that the history of this place reaches, and all that must hold.",
    )
    parser.add_argument(
        "--sample", type=share, default=1.0, metavar="SHARE", help="check this share of it: 0.05, or 5%%"
    )
    parser.add_argument(
        "--repair", action="store_true", help="make anew what is derived and damaged, name what is lost"
    )
    parser.add_argument("--from", dest="other", metavar="WORKSPACE", help="with --repair: take files from this copy")


def share(text: str) -> float:
    """A share as a number from 0 to 1, or in percent."""
    return float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
