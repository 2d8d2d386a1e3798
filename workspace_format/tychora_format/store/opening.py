"""From what people write (a directory, a URL) to its store."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from tychora_format.store.local import LocalStore
from tychora_format.store.memory import MemoryStore
from tychora_format.store.port import Store
from tychora_schemas.errors import InvalidRequest

__all__ = ["open_store"]

SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://(.*)", re.DOTALL)

PACKED = ".tychora"
"""How the name of a packed file ends."""

memories: dict[str, MemoryStore] = {}
"""The memory stores of this process, by name."""


def open_store(place: str | Path, **options: Any) -> Store:
    """The store at `place`; nothing is read, made or contacted yet.

    `place` is a directory (`~` is understood), a packed file `NAME.tychora`, `file://…`, `memory://name` (one per
    process and name), `s3://bucket/prefix`, or any other fsspec URL. `options` go to the fsspec file system, such as
    `endpoint_url=…`, `key=…`, `secret=…`; without them S3's usual chain applies (`AWS_*` variables, profile files,
    machine role), and `AWS_ENDPOINT_URL` names another server. `InvalidRequest` for a file of another name, an unknown
    scheme, or a missing package.
    """
    if not str(place).strip():
        raise InvalidRequest("the workspace has no name", next_step="give a directory or a URL")
    scheme = SCHEME.fullmatch(place) if isinstance(place, str) else None
    if scheme is None:
        return local_store(Path(place))
    match scheme[1].lower():
        case "file":
            return local_store(path_of_file_url(scheme[2]))
        case "memory":
            return memories.setdefault(scheme[2], MemoryStore(scheme[2]))
        case "s3" | "s3a":
            from tychora_format.store.s3 import S3Store

            return S3Store(str(place), **options)
        case _:
            from tychora_format.store.remote import FsspecStore

            return FsspecStore(str(place), **options)


def local_store(path: Path) -> Store:
    if path.suffix == PACKED and not path.expanduser().is_dir():
        from tychora_format.store.packed import PackedStore

        return PackedStore(path)
    store = LocalStore(path)
    if store.root.is_file():
        raise InvalidRequest(
            f"{store.root} is a file, not a directory",
            next_step="give the workspace's directory; a packed file must end in .tychora",
        )
    return store


def path_of_file_url(rest: str) -> Path:
    from urllib.parse import unquote

    path = unquote(rest.removeprefix("localhost"))
    if os.name == "nt":
        path = path.lstrip("/")
    return Path(path)
