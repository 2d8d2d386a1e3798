"""The upkeep of a workspace: `manage WORKSPACE ACTION`."""

from __future__ import annotations

from tychora_client.cli.arguments.base import Parser, Verbs, add_verb, common

__all__ = ["add_upkeep"]

TARGET = "a source's path or id, a revision's id, or the SHA-256 of an original"


def add_upkeep(verbs: Verbs[Parser]) -> None:
    """Add `manage` with all its actions."""
    parser = add_verb(
        verbs,
        "manage",
        "compact, collect, withdraw, delete …",
        "The upkeep of a workspace. `manage WORKSPACE ACTION --help` says what each action does.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    for add in (_compact, _collect, _withdraw, _restore, _delete, _policy, _expire, _rollback, _upgrade):
        add(actions)


def _action(actions: Verbs[Parser], name: str, help: str, description: str) -> Parser:
    parser = actions.add_parser(name, help=help, description=description, allow_abbrev=False)
    common(parser, again=True)
    return parser


def _compact(actions: Verbs[Parser]) -> None:
    _action(
        actions,
        "compact",
        "join the batches of many adds",
        "Index the live batches of the newest snapshot anew as one. Answers stay the same, questions get faster. The "
        "old batches stay for older snapshots, until `collect --history N` removes those.",
    )


def _collect(actions: Verbs[Parser]) -> None:
    parser = _action(
        actions,
        "collect",
        "remove what nothing needs",
        "Remove files that no kept snapshot reaches: what interrupted runs left behind, and what was deleted.",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument(
        "--grace-hours", type=float, default=24.0, metavar="HOURS", help="leave files alone that are younger (24)"
    )
    parser.add_argument(
        "--history", type=int, metavar="N",
        help="keep only N states before the newest, and the tagged ones; without it all history stays",
    )  # fmt: skip


def _withdraw(actions: Verbs[Parser]) -> None:
    parser = _action(
        actions,
        "withdraw",
        "hide something, reversibly",
        "Hide a source, a revision or an original at once: in every answer, from every snapshot, and on every copy "
        "that the statement reaches by sync.",
    )
    _target(parser)


def _restore(actions: Verbs[Parser]) -> None:
    parser = _action(actions, "restore", "take a withdrawal back", "Show again what was withdrawn.")
    parser.add_argument("target", metavar="TARGET", help=TARGET)


def _delete(actions: Verbs[Parser]) -> None:
    parser = _action(
        actions,
        "delete",
        "erase something for good",
        "Erase a source, a revision or an original: hidden at once, its bytes removed by the next collection, never "
        "taken back from any copy.",
    )
    _target(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _target(parser: Parser) -> None:
    parser.add_argument("target", metavar="TARGET", help=TARGET)
    parser.add_argument("--reason", default="", metavar="TEXT", help="kept with the statement")


def _policy(actions: Verbs[Parser]) -> None:
    parser = _action(
        actions,
        "policy",
        "list or set policies",
        "List the policies in force; or set one on a collection or a source, in place of what it said before.",
    )
    parser.add_argument("--collection", metavar="NAME", help="the collection it is about")
    parser.add_argument("--source", metavar="TARGET", help="the source it is about")
    rules = parser.add_mutually_exclusive_group()
    rules.add_argument("--retain-days", type=int, metavar="N", help="`expire` erases what was captured longer ago")
    rules.add_argument("--classification", metavar="NAME", help="a word such as public or internal")
    rules.add_argument("--grant", metavar="PRINCIPAL", help="user:NAME, group:NAME or * may read it")
    rules.add_argument("--revoke", metavar="PRINCIPAL", help="user:NAME, group:NAME or * may not read it")
    rules.add_argument(
        "--lift", metavar="RULE", help="take back: retention, classification, or the rule on a PRINCIPAL"
    )
    parser.add_argument("--reason", default="", metavar="TEXT", help="kept with the statement")


def _expire(actions: Verbs[Parser]) -> None:
    parser = _action(
        actions,
        "expire",
        "erase what its retention has run out for",
        "Erase what policies say is to be kept no longer.",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what is due")


def _rollback(actions: Verbs[Parser]) -> None:
    parser = _action(
        actions,
        "rollback",
        "go back to an older state",
        "Commit a new snapshot that holds what an old one held. Nothing of what came between is lost.",
    )
    parser.add_argument("reference", metavar="REF", help="main~1, a date, a tag or the start of a snapshot's hash")


def _upgrade(actions: Verbs[Parser]) -> None:
    _action(
        actions,
        "upgrade",
        "bring an old workspace to the newest format",
        "Bring a workspace to the newest format. Older versions of Tychora refuse it from then on.",
    )
