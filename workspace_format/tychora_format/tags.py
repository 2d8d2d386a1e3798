"""Tags: names for snapshots. The only files of a bundle that may be replaced."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime

from tychora_format.paths import is_plain_path
from tychora_format.sealed import seal, unseal
from tychora_format.store import Store
from tychora_schemas.errors import InvalidRequest, NotFound

__all__ = ["Tags"]

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,99}")

TAKEN = re.compile(r"main|[0-9a-f]{6,64}|snapshot_[0-9a-f]*", re.IGNORECASE)
"""What has another meaning as a reference."""


class Tags:
    """The tags of one location."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def all(self) -> dict[str, str]:
        """Name → snapshot id. Raises CorruptWorkspace naming a damaged tag."""
        names = [file.path.removeprefix("tags/").removesuffix(".json") for file in self.store.list("tags/")]
        found = {name: self.get(name) for name in names}
        return {name: snapshot for name, snapshot in found.items() if snapshot is not None}

    def get(self, name: str) -> str | None:
        """The snapshot that `name` stands for; None when there is no such tag. Raises CorruptWorkspace."""
        if not NAME.fullmatch(name):
            return None
        path = f"tags/{name}.json"
        with suppress(NotFound):
            return str(unseal(self.store.read(path), path).get("snapshot"))
        return None

    def put(self, name: str, snapshot_id: str) -> None:
        """Let `name` stand for the snapshot. Raises InvalidRequest for what cannot be a name."""
        if not NAME.fullmatch(name) or not is_plain_path(f"{name}.json") or TAKEN.fullmatch(name) or _is_date(name):
            raise InvalidRequest(
                f"{name!r} cannot name a snapshot",
                next_step="use letters, digits, '.', '_' and '-', and nothing that is a reference already: main, a "
                "date, the digits of a hash",
            )
        self.store.write(f"tags/{name}.json", seal({"snapshot": snapshot_id}))

    def remove(self, name: str) -> None:
        """Forget a name. No error when it is unknown."""
        if NAME.fullmatch(name):
            self.store.delete(f"tags/{name}.json")


def _is_date(name: str) -> bool:
    with suppress(ValueError):
        datetime.fromisoformat(name)
        return True
    return False
