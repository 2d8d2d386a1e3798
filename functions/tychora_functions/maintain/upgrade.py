"""Upgrades a workspace to the newest format, when asked to and never otherwise."""

from __future__ import annotations

from tychora_format import versions
from tychora_format.manifest import FORMAT_VERSION
from tychora_format.workspace import Workspace
from tychora_schemas.maintenance import UpgradeReport

__all__ = ["upgrade"]


def upgrade(workspace: Workspace) -> UpgradeReport:
    """Bring the workspace to the newest format. Nothing else of it changes, and nothing happens where it is there."""
    steps = versions.upgrade(workspace)
    return UpgradeReport(
        format_before=steps[0]["from"] if steps else workspace.format,
        format=steps[-1]["to"] if steps else workspace.format,
        brings=[versions.VERSIONS[step["to"]] for step in steps],
        newest=FORMAT_VERSION,
    )
