"""A workspace to be synced from, and stores of every kind to sync to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.histories import publish_texts
from support.syncing import FIRST, SECOND, Open
from tychora_format.cache import Cache
from tychora_format.store import Store, open_store
from tychora_format.workspace import Workspace


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def source(tmp_path: Path, cache: Cache) -> Workspace:
    """A directory with two commits and a tag."""
    workspace = Workspace.create(tmp_path / "source", cache=cache)
    publish_texts(workspace, FIRST)
    workspace.tags.put("first", workspace.head().id)
    publish_texts(workspace, SECOND)
    return workspace


@pytest.fixture
def open_any(s3_models: Any, monkeypatch: pytest.MonkeyPatch) -> Open:
    """`open_store`, also for sync itself, with what all clients of S3 read from disk read once."""

    def opened(place: str) -> Store:
        return open_store(place, session=s3_models) if place.startswith("s3://") else open_store(place)

    monkeypatch.setattr("tychora_functions.copies.location.open_store", opened)
    return opened
