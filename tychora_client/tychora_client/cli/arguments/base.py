"""What every verb's arguments are made of."""

from __future__ import annotations

import argparse
from typing import NoReturn

__all__ = ["Parser", "UsageError", "Verbs", "add_reference", "add_verb", "common"]


class UsageError(Exception):
    """The command line itself is wrong. Its text is the message, `usage` the right form, `help` what says more."""

    def __init__(self, message: str, usage: str, help: str) -> None:
        super().__init__(message)
        self.usage = usage
        self.help = help


class Parser(argparse.ArgumentParser):
    """A parser that raises UsageError instead of leaving the process."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.format_usage().strip(), f"{self.prog} --help")


Verbs = argparse._SubParsersAction
"""Where a verb adds its parser; argparse has no public name for it."""


def add_verb(verbs: Verbs[Parser], name: str, help: str, description: str, *, workspace: bool = True) -> Parser:
    """A verb with the options that all share; those about a WORKSPACE begin with it."""
    parser = verbs.add_parser(name, help=help, description=description, allow_abbrev=False)
    if workspace:
        parser.add_argument(
            "workspace", metavar="WORKSPACE", help="a directory, an s3:// URL or a packed file NAME.tychora"
        )
    common(parser)
    if workspace:
        parser.add_argument(
            "--set", dest="settings", metavar="KEY=VALUE", action="append", default=[],
            help="a setting for this run (repeatable); `inspect WORKSPACE config` lists them",
        )  # fmt: skip
    return parser


def common(parser: Parser, *, again: bool = False) -> None:
    """What can be said to every verb. Said `again` behind an action, it does not take back what stood before it."""
    unsaid = argparse.SUPPRESS if again else False
    parser.add_argument("--json", action="store_true", default=unsaid, help="JSON on stdout, as when it is no terminal")
    parser.add_argument("--debug", action="store_true", default=unsaid, help="show the traceback of an error")


def add_reference(parser: Parser, help: str) -> None:
    """The option that names a snapshot."""
    parser.add_argument("--at", default="main", metavar="REF", help=help)
