"""What is not about one workspace: bringing one copy into another, unpacking, checking a proof."""

from __future__ import annotations

from pathlib import Path

from tychora_client.place import as_place, on_this_machine
from tychora_functions.progress import Watcher
from tychora_schemas.proof import ProofCheck
from tychora_schemas.transport import SyncReport, UnpackReport

__all__ = ["check_proof", "sync", "unpack"]


def sync(
    source: str | Path, destination: str | Path, *, dry_run: bool = False, progress: Watcher | None = None
) -> SyncReport:
    """Bring all that `source` has into `destination`, which is made where it does not exist.

    Only what is missing moves; nothing is parsed or embedded again. Copies that went separate ways are merged, and
    the report lists what both had changed.
    """
    from tychora_functions.copies.sync import sync as run

    return run(as_place(source), as_place(destination), dry_run=dry_run, progress=progress)


def unpack(file: str | Path, directory: str | Path) -> UnpackReport:
    """Make a directory of a packed file, after everything in it was checked."""
    from tychora_functions.copies.packing import unpack as run

    return run(on_this_machine(file), on_this_machine(directory))


def check_proof(proof: bytes, snapshot_id: str) -> ProofCheck:
    """Whether a proof holds for the id of a snapshot that you trust. Needs no workspace."""
    from tychora_format.proof import check_proof as run

    return run(proof, snapshot_id)
