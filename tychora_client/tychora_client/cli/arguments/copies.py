"""The verbs about copies of a workspace and about its states: pack, unpack, sync, tag, prove, check-proof."""

from __future__ import annotations

from tychora_client.cli.arguments.base import Parser, Verbs, add_reference, add_verb

__all__ = ["add_copies"]


def add_copies(verbs: Verbs[Parser]) -> None:
    """Add them all."""
    for add in (_sync, _pack, _unpack, _tag, _prove, _check_proof):
        add(verbs)


def _sync(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "sync",
        "bring everything of one copy into another",
        "Bring all that SOURCE has into DESTINATION, which is made where it does not exist. Only what is missing "
        "moves; copies that went separate ways are merged. SOURCE is only read: sync the other way round, too, to make "
        "both equal.",
        workspace=False,
    )
    parser.add_argument("source", metavar="SOURCE", help="a directory, an s3:// URL or a packed file")
    parser.add_argument("destination", metavar="DESTINATION", help="another one")
    parser.add_argument("--dry-run", action="store_true", help="only say what would move, and which sources conflict")


def _pack(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "pack",
        "write a workspace into one file",
        "Write a snapshot with its history into one file NAME.tychora, which is a workspace itself. The same snapshot "
        "gives the same bytes anywhere.",
    )
    parser.add_argument("file", metavar="FILE.tychora", help="the file to write")
    add_reference(parser, "the snapshot to pack")
    parser.add_argument("--history", type=int, metavar="N", help="only N steps back of the history; 0 for none (all)")
    parser.add_argument(
        "--without", choices=("originals",), metavar="originals",
        help="leave the captured files behind: smaller, but citations cannot be checked against them",
    )  # fmt: skip
    parser.add_argument("--replace", action="store_true", help="write over whatever the file is now")


def _unpack(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "unpack",
        "make a directory of a packed file",
        "Make a directory of a packed file, after everything in it was checked.",
        workspace=False,
    )
    parser.add_argument("file", metavar="FILE.tychora", help="the packed file")
    parser.add_argument("directory", metavar="DIRECTORY", help="a new or an empty directory")


def _tag(verbs: Verbs[Parser]) -> None:
    parser = add_verb(verbs, "tag", "name a snapshot", "Give a snapshot a name, which --at takes from then on.")
    parser.add_argument("name", metavar="NAME", help="letters, digits, '.', '_' and '-'")
    parser.add_argument("reference", metavar="REF", nargs="?", default="main", help="the snapshot (the newest one)")
    parser.add_argument("--delete", action="store_true", help="forget the name; its snapshot stays")


def _prove(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "prove",
        "prove that a citation was in a snapshot",
        "Write a proof, as JSON, that a quote stood at its place in a snapshot. check-proof checks it without the "
        "workspace.",
    )
    parser.add_argument(
        "citation", metavar="CITATION",
        help="a file with a citation's JSON (- for stdin), a unit's id, or RUN_ID#CITATION_ID",
    )  # fmt: skip
    add_reference(parser, "the snapshot to prove it for")


def _check_proof(verbs: Verbs[Parser]) -> None:
    parser = add_verb(
        verbs,
        "check-proof",
        "check such a proof, without a workspace",
        "Check a proof against the id of a snapshot that you trust. No workspace and no network is needed.",
        workspace=False,
    )
    parser.add_argument("file", metavar="FILE", help="the proof; - reads it from stdin")
    parser.add_argument("--snapshot", required=True, metavar="HASH", help="the snapshot's id, all 64 digits")
