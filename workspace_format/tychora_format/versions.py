"""Format versions: what each brought, and the migrations from one to the next. None ever runs on opening."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tychora_format.manifest import FORMAT_VERSION
from tychora_format.sealed import seal, unseal
from tychora_format.workspace import MARKER, Workspace
from tychora_schemas.errors import UnsupportedContent
from tychora_schemas.identity import content_sha256

__all__ = ["MIGRATIONS", "VERSIONS", "Migration", "require_format", "upgrade"]

VERSIONS = {
    1: "batches, manifests, log, tags, seals",
    2: "statements that hide and erase, batches that stand for others, collections",
}
"""What each version of the format brought. Every one is read; writing keeps to the version of the bundle."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step: `change` makes the marker's members of version `target` from those of the version before."""

    target: int
    change: Callable[[dict[str, Any]], dict[str, Any]]


def _allow_statements(marker: dict[str, Any]) -> dict[str, Any]:
    """Version 2 reads all files of version 1 as they are. Only who knows of statements may open it from now on."""
    return marker


MIGRATIONS = (Migration(2, _allow_statements),)


def upgrade(workspace: Workspace, migrations: Sequence[Migration] = MIGRATIONS) -> list[dict[str, Any]]:
    """Bring the bundle to the newest format, step by step, and return the steps taken; none if it is the newest.

    Each step is one replacement of the marker, which then records under `upgrades` from which version to which, and
    the SHA-256 of the marker before: what was, can be told from a copy that was not upgraded. Safe to repeat and to
    interrupt between steps.
    """
    taken = []
    for migration in migrations:
        data = workspace.store.read(MARKER)
        marker = unseal(data, MARKER)
        if marker["format"] != migration.target - 1:
            continue
        step = {"from": marker["format"], "to": migration.target, "marker": content_sha256(data)}
        upgrades = [*marker.get("upgrades", ()), step]
        changed = {**migration.change(dict(marker)), "format": migration.target, "upgrades": upgrades}
        workspace.store.write(MARKER, seal(changed))
        taken.append(step)
    return taken


def require_format(workspace: Workspace, version: int, what: str) -> None:
    """Raise UnsupportedContent where the bundle is of an older format, whose readers would not heed `what`."""
    if workspace.format < version:
        raise UnsupportedContent(
            f"this workspace is of format {workspace.format}, whose readers know nothing of {what}",
            next_step=f"bring it to format {FORMAT_VERSION} with tychora manage WORKSPACE upgrade: older versions of "
            "Tychora then refuse it instead of showing what they should not",
        )
