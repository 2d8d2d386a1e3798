"""The verbs about copies of a workspace and about its states: sync, pack, unpack, tag, prove, check-proof."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

from tychora_client import copies
from tychora_client.cli.output import Outcome, as_json, write
from tychora_client.cli.verbs.base import client_of, shown
from tychora_client.progress import ProgressLine
from tychora_client.render import copies as render
from tychora_schemas.errors import InvalidRequest, NotFound

__all__ = ["check_proof", "pack", "prove", "sync", "tag", "unpack"]

FAILED_PROOF = 4
"""Exit code of a proof that does not hold: the input is not what it says."""

WRITTEN = ("{", "unit_", "run_", "citation_")
"""What a citation begins with that is given in the command line itself; anything else is the name of a file."""


def sync(options: Namespace, machine: bool) -> Outcome:
    """Bring one copy into another."""
    line = ProgressLine(sys.stderr)
    try:
        report = copies.sync(options.source, options.destination, dry_run=options.dry_run, progress=line)
    finally:
        line.close()
    return shown(report, machine, render.synced)


def pack(options: Namespace, machine: bool) -> Outcome:
    """Write a workspace into one file."""
    with client_of(options) as client:
        report = client.pack(
            options.file,
            options.at,
            history=options.history,
            originals=options.without != "originals",
            replace=options.replace,
        )
    return shown(report, machine, render.packed)


def unpack(options: Namespace, machine: bool) -> Outcome:
    """Make a directory of a packed file."""
    return shown(copies.unpack(options.file, options.directory), machine, render.unpacked)


def tag(options: Namespace, machine: bool) -> Outcome:
    """Name a snapshot, or forget the name."""
    with client_of(options) as client:
        made = client.untag(options.name) if options.delete else client.tag(options.name, options.reference)
    return shown(made, machine, render.tagged)


def prove(options: Namespace, machine: bool) -> Outcome:
    """Write a proof. It is a file for programs and always JSON, byte for byte as it will be checked."""
    from tychora_format.proof import encode_proof

    with client_of(options) as client:
        return Outcome(encode_proof(client.prove(_citation(options.citation), options.at)).decode())


def check_proof(options: Namespace, machine: bool) -> Outcome:
    """Check a proof against a snapshot's id."""
    check = copies.check_proof(_bytes(options.file), options.snapshot)
    return shown(check, machine, render.checked, 0 if check.holds else FAILED_PROOF)


def _citation(word: str) -> str:
    """The citation that is meant, as it was written, or in a file or on stdin: there also the first of a search."""
    if word.startswith(WRITTEN):
        return word
    text = _bytes(word).decode("utf-8", "replace").strip()
    try:
        found: Any = json.loads(text)
    except ValueError:
        return text
    if not isinstance(found, dict) or "citations" not in found:
        return text
    several = found["citations"]
    if not several:
        raise NotFound("the search found nothing to cite", next_step="ask something else, or prove a unit by its id")
    if len(several) > 1:
        write(sys.stderr, f"proving the first of {len(several)} citations\n")
    return as_json(several[0])


def _bytes(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except FileNotFoundError as error:
        raise NotFound(f"there is no file {file}", next_step="check the path") from error
    except OSError as error:
        raise InvalidRequest(f"{file} cannot be read: {error.strerror}", next_step="give a readable file") from error
