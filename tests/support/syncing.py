"""What the tests of sync share: two states of some texts, and what must be true of a copy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from support.histories import model_of
from tychora_format.statements import Statement
from tychora_format.store import Store
from tychora_format.workspace import Workspace, utc_now
from tychora_functions.maintain.verify import verify

__all__ = ["FIRST", "SECOND", "Open", "check_copy", "files_of", "frozen", "withdraw"]

FIRST = {"ferry.txt": "The ferry leaves at seven.", "fish.txt": "There was no fish.\n\nNot for days."}
SECOND = {"harbour.txt": "The harbour is closed.", "fish.txt": "There is fish again."}

Open = Callable[[str], Store]


def files_of(store: Store) -> dict[str, bytes]:
    """Everything that travels, and the state of nothing that does not."""
    local = ("log/", "staging/", "leases/", "jobs/", "keys/")
    return {entry.path: store.read(entry.path) for entry in store.list() if not entry.path.startswith(local)}


def check_copy(source: Workspace, destination: str | Store) -> Workspace:
    copy = Workspace.open(destination, cache=source.cache)
    assert copy.head().id == source.head().id
    assert model_of(copy.head()) == model_of(source.head())
    report = verify(copy)
    assert report.ok, report.problems
    return copy


def frozen(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


def withdraw(workspace: Workspace, target: str) -> Statement:
    """State that the target is withdrawn."""
    statement = Statement.make("withdrawal", {"target": target, "withdrawn": True}, utc_now())
    workspace.statements.add(statement)
    return statement
