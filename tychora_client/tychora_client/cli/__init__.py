"""The command line: `main` runs one verb. Data goes to stdout, everything for people besides it to stderr.

    arguments    what can be asked
    verbs        what each verb does with a client
    output       JSON or text, and how either is written
    failures     from an exception to its exit code

Importing this package loads the standard library's argparse and nothing else.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from tychora_client.cli.arguments import build_parser, wants_json
from tychora_client.cli.output import prepare, write

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (that of the process by default) and return its exit code."""
    # Starting numpy's threads costs a fifth of a cold search, and no matrix here is large enough to need them.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    words = list(sys.argv[1:] if arguments is None else arguments)
    if sys.stdout is None:  # the caller's shell has closed it
        sys.stdout = io.StringIO()
    prepare(sys.stdout, sys.stderr)
    machine = wants_json(words, sys.stdout.isatty())
    try:
        options = build_parser().parse_args(words)
        from tychora_client.cli.verbs import run

        outcome = run(options, machine)
    except KeyboardInterrupt:
        from tychora_client.cli.failures import interrupted

        return interrupted()
    except Exception as error:
        from tychora_client.cli.failures import failed

        return failed(error, machine, debug="--debug" in words)
    write(sys.stdout, outcome.text)
    return outcome.code
