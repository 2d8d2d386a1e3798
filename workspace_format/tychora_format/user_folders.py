"""Where the files of this user go that belong to no bundle: the cache, and the state of this machine."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from tychora_format.store.failures import typed_failures

__all__ = ["cache_directory", "state_directory"]


def cache_directory() -> Path:
    """Where downloads and derived files go, which can be deleted at any time. The folder exists on return.

    `TYCHORA_CACHE`, else the platform's: `$XDG_CACHE_HOME` or `~/.cache` on Linux, `~/Library/Caches` on
    macOS, `%LOCALAPPDATA%` on Windows. Where that cannot be written, a private temporary folder.
    """
    return usable("cache", {"darwin": "Library/Caches", "win32": "AppData/Local"}, "XDG_CACHE_HOME", ".cache")


def state_directory() -> Path:
    """Where what must outlive the cache goes, such as the registered roots. The folder exists on return.

    `TYCHORA_STATE`, else `$XDG_STATE_HOME` or `~/.local/state` on Linux, `~/Library/Application Support` on
    macOS, `%LOCALAPPDATA%` on Windows, with the same last resort as `cache_directory`.
    """
    places = {"darwin": "Library/Application Support", "win32": "AppData/Local"}
    return usable("state", places, "XDG_STATE_HOME", ".local/state")


def usable(kind: str, places: dict[str, str], xdg_variable: str, xdg_place: str) -> Path:
    variable = f"TYCHORA_{kind.upper()}"
    if chosen := os.environ.get(variable):
        path = Path(chosen).expanduser().absolute()
        with typed_failures(f"use {variable}={chosen}"):
            path.mkdir(parents=True, exist_ok=True)
        return path
    with suppress(OSError, RuntimeError):  # RuntimeError: this user has no home at all
        path = platform_folder(places, xdg_variable, xdg_place) / "tychora"
        path = path / kind if sys.platform == "win32" else path
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.access(path, os.R_OK | os.W_OK | os.X_OK):
            return path
    return private_temporary(kind)


def platform_folder(places: dict[str, str], xdg_variable: str, xdg_place: str) -> Path:
    named = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else xdg_variable, "")
    if sys.platform != "darwin" and Path(named).is_absolute():
        return Path(named)
    return Path.home() / places.get(sys.platform, xdg_place)


def private_temporary(kind: str) -> Path:
    """A folder that only this user can enter: what is under the temporary one, anybody may have made."""
    import tempfile

    user = os.getuid() if hasattr(os, "getuid") else "user"
    path = Path(tempfile.gettempdir()) / f"tychora-{kind}-{user}"
    with suppress(FileExistsError):
        path.mkdir(mode=0o700)
    found = path.lstat()
    owned = stat.S_ISDIR(found.st_mode) and (os.name == "nt" or (found.st_uid == user and not found.st_mode & 0o077))
    return path if owned else Path(tempfile.mkdtemp(prefix=f"tychora-{kind}-"))
