"""Walks a root: every path that is met comes out once, as a file to capture or with the reason why not."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pathspec import GitIgnoreSpec

from tychora_schemas.settings import Settings

__all__ = ["Met", "readable_path", "walk"]

PRUNED = frozenset({".git", ".hg", ".svn", ".bzr", "__pycache__", "node_modules", ".venv", ".tox", ".mypy_cache"})
"""Folders of tools, never of people: pruned whatever the settings say."""

MARKER = "tychora.json"


@dataclass(frozen=True, slots=True)
class Met:
    """A path met on the walk. `path` is relative to the root, `/`-separated and printable.

    `fate` is `file` for what can be captured, `skipped` for what is deliberately not taken, `refused` for what was
    asked for and cannot be had; the last two carry a `reason`.
    """

    path: str
    location: Path
    size: int
    fate: Literal["file", "skipped", "refused"] = "file"
    reason: str | None = None


def readable_path(path: str) -> str:
    r"""`path` as valid Unicode: bytes of a name that are not UTF-8 are written `\xNN`."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace").replace(os.sep, "/")


def walk(root: Path, settings: Settings, subtree: str = "") -> Iterator[Met]:
    """All paths below `root` (or below its folder or file `subtree`), sorted by name within each folder.

    Links are never followed, devices and pipes never opened, folders of version control and caches are pruned;
    `.gitignore` files count where the settings say so, from the root down.
    """
    start = root / subtree if subtree else root
    rules = _Rules(root, settings)
    if not start.is_dir() or start.is_symlink():
        yield _met(root, start, rules)
        return
    for folder in [*reversed(start.relative_to(root).parents), start.relative_to(root)] if start != root else []:
        rules.enter(root / folder)
    yield from _folder(root, start, rules)


def _folder(root: Path, start: Path, rules: _Rules) -> Iterator[Met]:
    waiting = [start]
    while waiting:
        folder = waiting.pop()
        try:
            names = sorted(entry.name for entry in folder.iterdir())
        except OSError as error:
            yield _refused(root, folder, f"the folder cannot be read: {_spoken(error)}")
            continue
        if MARKER in names:
            yield Met(_relative(root, folder), folder, 0, "skipped", "it is a Tychora workspace")
            continue
        rules.enter(folder)
        below = []
        for name in names:
            location = folder / name
            if _is_folder(location):
                reason = rules.prunes(location)
                if reason:
                    yield Met(_relative(root, location), location, 0, "skipped", reason)
                else:
                    below.append(location)
            else:
                yield _met(root, location, rules)
        waiting.extend(reversed(below))


def _is_folder(location: Path) -> bool:
    try:
        return stat.S_ISDIR(location.lstat().st_mode)
    except OSError:
        return False


def _met(root: Path, location: Path, rules: _Rules) -> Met:
    try:
        status = location.lstat()
    except OSError as error:
        return _refused(root, location, f"it vanished or cannot be looked at: {_spoken(error)}")
    path = _relative(root, location)
    reason = rules.ignores(location)
    if reason:
        return Met(path, location, status.st_size, "skipped", reason)
    if stat.S_ISLNK(status.st_mode):
        return _link(root, location)
    if not stat.S_ISREG(status.st_mode):
        return _refused(root, location, "it is no regular file (a pipe, a socket or a device)")
    if status.st_size > rules.settings.capture_maximum_bytes:
        limit = rules.settings.capture_maximum_bytes
        return _refused(root, location, f"it has {status.st_size:,} bytes, more than capture_maximum_bytes ({limit:,})")
    return Met(path, location, status.st_size)


def _link(root: Path, location: Path) -> Met:
    try:
        target = location.resolve(strict=True)
        inside = target.is_relative_to(root.resolve())
    except (OSError, RuntimeError) as error:
        loop = "Symlink loop" in str(error) or getattr(error, "errno", None) == 40
        return _refused(root, location, "it is a link in a loop" if loop else "it is a link whose target is missing")
    if target.is_dir() and location.absolute().is_relative_to(target):
        return _refused(root, location, "it is a link to a folder that contains it: a loop")
    if not inside:
        return _refused(root, location, "it is a link that leads outside of the root; add its target itself")
    where = _relative(root.resolve(), target)
    return Met(_relative(root, location), location, 0, "skipped", f"it is a link to {where}, which counts by itself")


def _refused(root: Path, location: Path, reason: str) -> Met:
    return Met(_relative(root, location), location, 0, "refused", reason)


def _relative(root: Path, location: Path) -> str:
    return readable_path(location.name if location == root else str(location.relative_to(root)))


def _spoken(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


class _Rules:
    """What is deliberately left out, and why."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.root = root
        self.settings = settings
        self.specs: dict[Path, GitIgnoreSpec] = {}

    def enter(self, folder: Path) -> None:
        """Take the folder's own `.gitignore` into account for what is below it."""
        file = folder / ".gitignore"
        if not self.settings.capture_ignore_files or folder in self.specs:
            return
        try:
            if not file.is_file():
                return
            self.specs[folder] = GitIgnoreSpec.from_lines(file.read_text("utf-8", "replace").splitlines())
        except (OSError, ValueError):
            return

    def prunes(self, folder: Path) -> str | None:
        """Why a folder is not entered; None when it is."""
        if folder.name in PRUNED:
            return "it is a folder of a tool, not of a person"
        return self.ignores(folder, "/")

    def ignores(self, location: Path, suffix: str = "") -> str | None:
        """Why a path is left out; None when it is not."""
        if location != self.root and location.name.startswith(".") and not self.settings.capture_hidden:
            return "it is hidden (set capture_hidden to take it)"
        for folder in location.parents if self.specs else ():
            spec = self.specs.get(folder)
            if spec is not None:
                decided = spec.check_file(str(location.relative_to(folder)).replace(os.sep, "/") + suffix).include
                if decided is not None:
                    return f"{_relative(self.root, folder)}/.gitignore names it" if decided else None
            if folder == self.root:
                break
        return None
