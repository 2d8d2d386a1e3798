"""Which names do not survive a trip to another system."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

__all__ = ["colliding", "reserved"]

DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?\Z", re.IGNORECASE)
FORBIDDEN = re.compile(r'[<>:"|?*\\\x00-\x1f]')


def colliding(paths: Iterable[str]) -> list[list[str]]:
    """Groups of paths that are one path where case or Unicode forms are folded (macOS, Windows)."""
    groups: dict[str, list[str]] = defaultdict(list)
    for path in paths:
        groups[unicodedata.normalize("NFC", path).casefold()].append(path)
    return sorted(sorted(group) for group in groups.values() if len(group) > 1)


def reserved(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Paths with a name that Windows refuses, and why."""
    found = []
    for path in sorted(paths):
        for name in path.split("/"):
            if DEVICE.match(name):
                found.append((path, f"{name} is the name of a device on Windows"))
            elif FORBIDDEN.search(name):
                found.append((path, "it holds a character that Windows refuses in names"))
            elif name.endswith((" ", ".")):
                found.append((path, "a name that ends in a blank or a dot loses it on Windows"))
            else:
                continue
            break
    return found
