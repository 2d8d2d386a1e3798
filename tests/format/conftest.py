"""What the tests of stores can ask for besides: a proxy before the S3 server, and a store behind it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.s3_proxy import Proxy, proxy
from tychora_format.store import Store, open_store, retries


@pytest.fixture(scope="module")
def proxy_server(s3_endpoint: str) -> Iterator[Proxy]:
    with proxy(s3_endpoint) as server:
        yield server


@pytest.fixture
def before(proxy_server: Proxy) -> Proxy:
    """The proxy before the store, forgetful of what other tests did."""
    proxy_server.page = None
    proxy_server.expect(lambda request: None)
    return proxy_server


@pytest.fixture
def store(s3_url: str, s3_models: Any, before: Proxy) -> Store:
    return open_store(s3_url, session=s3_models, endpoint_url=before.url)


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short pauses, and patience that no busy machine exhausts."""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(retries, "PATIENCE_WITHOUT_ANSWER", retries.PATIENCE)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gives up after a moment, so that giving up can be waited for."""
    monkeypatch.setattr(retries, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(retries, "PATIENCE", 0.25)
    monkeypatch.setattr(retries, "PATIENCE_WITHOUT_ANSWER", 0.25)
