"""Which names a bundle may contain: plain, relative, the same on every system."""

from __future__ import annotations

import re

__all__ = ["is_plain_path"]

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*\Z")
_RESERVED = frozenset({"con", "prn", "aux", "nul", *(f"{d}{n}" for d in ("com", "lpt") for n in range(10))})


def is_plain_path(path: str) -> bool:
    """True for a relative path of portable names: no `..`, drive letter, blank, or name reserved by some system."""
    names = path.split("/")
    return len(path) <= 512 and all(
        _NAME.match(name) is not None and not name.endswith(".") and name.split(".")[0].lower() not in _RESERVED
        for name in names
    )
