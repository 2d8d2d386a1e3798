"""From an exception to what is said about it and to the exit code."""

from __future__ import annotations

import sys
import traceback

from tychora_client.cli.arguments import UsageError
from tychora_client.cli.output import as_json, write
from tychora_client.render.ansi import Style
from tychora_client.render.safe import safe, safe_line

__all__ = ["INTERRUPTED", "failed", "interrupted"]

INTERRUPTED = 130
"""128 + SIGINT, as shells count."""


def failed(error: Exception, machine: bool, *, debug: bool) -> int:
    """Say it on stderr, for programs on stdout too, and return the exit code."""
    code, described = _described(error)
    if debug:
        write(sys.stderr, safe(traceback.format_exc()))
    if isinstance(error, UsageError):
        write(sys.stderr, error.usage + "\n")
    style = Style.of(sys.stderr)
    lines = [f"{style('red', 'error:')} {safe_line(described['message'])}"]
    if described["next_step"]:
        lines.append(f"{style('dim', 'next:')} {safe_line(described['next_step'])}")
    write(sys.stderr, "\n".join(lines) + "\n")
    if machine:
        write(sys.stdout, as_json({"error": described}))
    return code


def interrupted() -> int:
    """A Ctrl-C that no run turned into a report."""
    write(sys.stderr, "interrupted: what was committed before stays, nothing else was changed\n")
    return INTERRUPTED


def _described(error: Exception) -> tuple[int, dict[str, str]]:
    from tychora_schemas.errors import InvalidRequest, TychoraError

    if isinstance(error, UsageError):
        error = InvalidRequest(str(error), next_step=f"{error.help} says more")
    if isinstance(error, TychoraError):
        return error.exit_code, error.as_dict()
    message = f"unexpected {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    step = "run it again with --debug for the traceback, and report that"
    return 1, {"code": "unexpected", "message": message, "next_step": step}
