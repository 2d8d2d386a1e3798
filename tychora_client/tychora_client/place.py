"""Places: what a name of a workspace means, a directory, a packed file, or a prefix of an object store."""

from __future__ import annotations

import os
import re
from pathlib import Path

from tychora_schemas.errors import InvalidRequest, NotFound

__all__ = ["as_place", "is_packed", "on_this_machine", "with_similar_names"]

PACKED = ".tychora"
MARKER = "tychora.json"
URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def as_place(workspace: str | Path) -> str:
    """The place as text. Raises InvalidRequest for an endpoint."""
    place = os.fspath(workspace)
    if re.match(r"https?://", place, re.IGNORECASE):
        raise InvalidRequest(
            f"{place} is an endpoint, which this version cannot ask",
            next_step="give a directory or an s3:// URL that holds the workspace",
        )
    return place


def is_packed(place: str) -> bool:
    """Whether a place names a packed file: by its name, unless it is a URL or a directory."""
    return place.rstrip("/").endswith(PACKED) and not URL.match(place) and not Path(place).expanduser().is_dir()


def on_this_machine(place: str | Path) -> str | Path:
    """The place, if it is none of an object store. Raises InvalidRequest for a URL."""
    if URL.match(str(place)):
        raise InvalidRequest(
            f"{place} is not on this machine",
            next_step="name a local file or directory; tychora sync goes between a packed file and an object store",
        )
    return place


def with_similar_names(error: NotFound, place: str) -> NotFound:
    """The same error; where workspaces of similar names lie beside the place, its next step names them."""
    from difflib import get_close_matches

    path = Path(place).expanduser()
    try:
        there = [each.name for each in path.parent.iterdir() if is_packed(str(each)) or (each / MARKER).exists()]
    except OSError:
        return error
    plain = {name.removesuffix(PACKED).casefold(): name for name in sorted(there)}
    near = get_close_matches(path.name.removesuffix(PACKED).casefold(), plain)
    if not near:
        return error
    return NotFound(error.message, next_step=f"did you mean {' or '.join(plain[each] for each in near)}?")
