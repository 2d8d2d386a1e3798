"""What every test can ask for: stores, an S3 server, a seed, the folder of real inputs beside it."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from support import s3
from tychora_format.store import LocalStore, MemoryStore, Store, open_store

SEED = "SEED_OF_TESTS"

settings.register_profile("tychora", deadline=None, print_blob=True)
settings.load_profile("tychora")


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault(SEED, str(secrets.randbelow(2**32)))


def pytest_report_header(config: pytest.Config) -> str:
    return f"randomised tests: {SEED}={os.environ[SEED]} repeats this run"


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The test's own seed, the same in any order of tests; printed when the test fails."""
    name = f"{os.environ[SEED]} {request.node.nodeid}"
    print(f"{SEED}={os.environ[SEED]}")
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or fills the cache and the state of the person who runs it."""
    own = tmp_path_factory.getbasetemp() / "user" / secrets.token_hex(8)
    monkeypatch.setenv("TYCHORA_CACHE", str(own / "cache"))
    monkeypatch.setenv("TYCHORA_STATE", str(own / "state"))
    monkeypatch.delenv("TYCHORA_CACHE_LIMIT", raising=False)


@pytest.fixture(scope="session")
def shared_folder() -> Path:
    """The folder of real documents and cases beside the checkout; the test is skipped where there is none."""
    folder = Path(__file__).resolve().parents[1] / ".." / "shared"
    if not folder.is_dir():
        pytest.skip("there is no folder 'shared' beside the checkout")
    return folder.resolve()


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """The URL of an S3 server, started once; its bucket is `support.s3.BUCKET`."""
    if importlib.util.find_spec("moto") is None or importlib.util.find_spec("s3fs") is None:
        pytest.skip("moto[server] and s3fs are not installed")
    with s3.moto_server() as endpoint:
        s3.make_bucket(endpoint)
        yield endpoint


@pytest.fixture
def s3_url(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A fresh prefix in the bucket, for this process and all that it starts."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in s3.environment(s3_endpoint).items():
        monkeypatch.setenv(name, value)
    return f"s3://{s3.BUCKET}/{secrets.token_hex(8)}"


@pytest.fixture(scope="session")
def s3_models() -> Any:
    """What botocore reads from disk for its first client, shared because that takes longer than most tests."""
    from aiobotocore.session import AioSession

    return AioSession()


@pytest.fixture
def s3_store(s3_url: str, s3_models: Any) -> Store:
    return open_store(s3_url, session=s3_models)


@pytest.fixture
def local_store(tmp_path: Path) -> LocalStore:
    return LocalStore(tmp_path / "bundle")


@pytest.fixture
def memory_store() -> MemoryStore:
    return MemoryStore(secrets.token_hex(8))


@pytest.fixture(params=["local", "memory", "s3"])
def any_store(request: pytest.FixtureRequest) -> Store:
    """The test runs once for each kind of store."""
    store: Store = request.getfixturevalue(f"{request.param}_store")
    return store


@pytest.fixture
def reopen(any_store: Store) -> Callable[[], Store]:
    """Opens the store again, as another client of the same place would."""
    return lambda: any_store if isinstance(any_store, MemoryStore) else open_store(any_store.url)
