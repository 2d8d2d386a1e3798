"""Registered roots: which folders of this machine a workspace was filled from.

Roots are machine configuration, not part of the bundle: they live in the state folder of this user, by workspace id.
In the bundle a root is only a label on each source, and decides the sources' paths: those of a collection's first root
are relative to it, those of a further root begin with its label, whose name then ends in `/`. Files added one by one
belong to the root `.`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tychora_format.cache import state_directory
from tychora_format.store.failures import typed_failures
from tychora_format.workspace import Workspace
from tychora_functions.capture.walk import readable_path
from tychora_schemas.errors import InvalidRequest, NotFound

__all__ = ["LOOSE", "Root", "Roots"]

LOOSE = "."
"""The label of the root that holds files added one by one."""


@dataclass(frozen=True, slots=True)
class Root:
    """A place to walk. `subtree` is the part of it that is asked for; `label` and `prefix` name it in the bundle."""

    location: Path
    label: str
    subtree: str = ""
    path: str | None = None
    """For a loose file the whole path of its source."""

    @property
    def prefix(self) -> str:
        """What the paths of the root's sources begin with."""
        return self.label if self.label.endswith("/") else ""

    def source_path(self, met: str) -> str:
        """The path in the bundle of what the walk calls `met`."""
        return self.path if self.path is not None else self.prefix + met

    def covers(self, path: str) -> bool:
        """True when a source of this label lies in the part of the root that is asked for."""
        if self.path is not None:
            return path == self.path
        wanted = self.prefix + readable_path(self.subtree)
        return not self.subtree or path == wanted or path.startswith(wanted + "/")


class Roots:
    """The roots that this machine has registered for a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.file = state_directory() / "roots" / f"{workspace.marker.workspace_id}.json"
        try:
            self.known: dict[str, dict[str, str]] = json.loads(self.file.read_text("utf-8", "surrogateescape"))
        except (OSError, ValueError):
            self.known = {}

    def resolve(self, path: str | Path, collection: str, live: Mapping[str, Sequence[str]], name: str | None) -> Root:
        """The root for `path`, registered if it is new.

        `live` has the paths of the collection's live sources by label. On a machine that does not know such a root
        yet, a folder of the same name continues it if it holds at least half of those paths, or if `name` says so.
        Raises NotFound when there is nothing at `path` and never was.
        """
        location = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100 - a link must not be followed yet
        if location.is_symlink():
            location = location.resolve()
        if (found := self._covering(location, collection)) is not None:
            if name is not None and name != found.label.rstrip("/"):
                raise InvalidRequest(
                    f"{readable_path(str(path))} is registered as {found.label.rstrip('/')!r}, not as {name!r}",
                    next_step="leave the name out: a root keeps the one that its sources carry",
                )
            return found
        if not location.exists():
            raise NotFound(f"there is nothing at {readable_path(str(path))}", next_step="check the path")
        if not location.is_dir():
            return self._loose(location, collection)
        label = self._label(location, collection, live, name)
        self._register(location, collection, label)
        return Root(location, label)

    def _places(self, collection: str) -> dict[Path, str]:
        return {Path(place): labels[collection] for place, labels in self.known.items() if collection in labels}

    def _covering(self, location: Path, collection: str) -> Root | None:
        places = self._places(collection)
        if location in places:
            label = places[location]
            if label.startswith(LOOSE + "/"):
                return Root(location, LOOSE, path=label.removeprefix(LOOSE + "/"))
            return Root(location, label)
        for parent in location.parents:
            label = places.get(parent, LOOSE)
            if not label.startswith(LOOSE):
                return Root(parent, label, subtree=str(location.relative_to(parent)))
        return None

    def _loose(self, location: Path, collection: str) -> Root:
        taken = {label for place, label in self._places(collection).items() if place != location}
        path = readable_path(location.name)
        parents = [readable_path(parent.name) for parent in location.parents if parent.name]
        while f"{LOOSE}/{path}" in taken and parents:
            path = f"{parents.pop(0)}/{path}"
        self._register(location, collection, f"{LOOSE}/{path}")
        return Root(location, LOOSE, path=path)

    def _label(self, location: Path, collection: str, live: Mapping[str, Sequence[str]], name: str | None) -> str:
        if name is not None and (not name or name.startswith(".") or "/" in name):
            raise InvalidRequest(f"{name!r} cannot name a root", next_step="use a plain name without '/'")
        wanted = name or readable_path(location.name) or "root"
        here = set(self._places(collection).values())
        for label in (wanted, wanted + "/"):
            if label in live and label not in here and (name is not None or _continues(location, label, live[label])):
                return label
        taken = here | set(live)
        if not {label for label in taken if not label.startswith(LOOSE)}:
            return wanted
        number, label = 1, wanted + "/"
        while {label, label.rstrip("/")} & taken:
            number += 1
            label = f"{wanted}-{number}/"
        return label

    def _register(self, location: Path, collection: str, label: str) -> None:
        self.known.setdefault(str(location), {})[collection] = label

    def save(self) -> None:
        """Remember the roots on this machine."""
        temporary = self.file.with_suffix(f".{os.getpid()}.tmp")
        with typed_failures(f"remember the roots in {self.file}"):
            self.file.parent.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(json.dumps(self.known, indent=1, ensure_ascii=True), "utf-8")
                temporary.replace(self.file)
            finally:
                temporary.unlink(missing_ok=True)


def _continues(location: Path, label: str, paths: Sequence[str]) -> bool:
    """Whether the folder holds at least half of a root's paths: an unrelated one must not replace it."""
    prefix = label if label.endswith("/") else ""
    held = sum(os.path.lexists(location / path.removeprefix(prefix)) for path in paths)
    return 2 * held >= len(paths)
