"""Tags a snapshot: gives it a name that stays when the workspace moves on."""

from __future__ import annotations

from tychora_format.manifest import snapshot_path
from tychora_format.workspace import Workspace
from tychora_schemas.errors import NotFound
from tychora_schemas.maintenance import TagReport

__all__ = ["put_tag", "tag", "untag"]


def tag(workspace: Workspace, name: str, reference: str = "main") -> TagReport:
    """Let `name` stand for the snapshot that `reference` names; a tag of that name moves there.

    Raises InvalidRequest for a name that is no name or has another meaning, NotFound where there is no snapshot.
    """
    snapshot = workspace.resolve(reference)
    if not snapshot.id:
        raise NotFound("nothing was committed here yet", next_step="tychora add WORKSPACE PATH, then tag it")
    before = workspace.tags.get(name)
    put_tag(workspace, name, snapshot.id)
    return TagReport(name=name, snapshot_id=snapshot.id, before=before)


def put_tag(workspace: Workspace, name: str, snapshot_id: str) -> None:
    """Write the tag, unless a collection removes its snapshot meanwhile: then NotFound, and no tag."""
    workspace.tags.put(name, snapshot_id)
    # A collection looks at the tags when it has said what it removes: so one of both sees the other.
    path = snapshot_path(snapshot_id)
    if workspace.store.size(path) is None or path in workspace.doomed(workspace.log.head().collecting):
        workspace.tags.remove(name)
        raise NotFound(f"snapshot {snapshot_id[:12]}… is being removed by a collection", next_step="tag another one")


def untag(workspace: Workspace, name: str) -> TagReport:
    """Remove a tag; its snapshot stays. Raises NotFound where there is no such tag."""
    before = workspace.tags.get(name)
    if before is None:
        raise NotFound(f"there is no tag {name!r}", next_step="tychora inspect WORKSPACE log shows the tags")
    workspace.tags.remove(name)
    return TagReport(name=name, snapshot_id="", before=before)
