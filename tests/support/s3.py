"""S3 for tests: moto's server as a subprocess, fake credentials, and a bucket."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tychora_format.store import Store

__all__ = ["BUCKET", "CALLS", "environment", "make_bucket", "moto_server"]

BUCKET = "tychora-tests"

CALLS: dict[str, Callable[[Store], object]] = {
    "GetObject": lambda store: store.read("a/b"),
    "HeadObject": lambda store: store.size("a/b"),
    "ListObjectsV2": lambda store: list(store.list("a/")),
    "PutObject": lambda store: store.write("a/b", b"new"),
    "DeleteObject": lambda store: store.delete("a/b"),
}
"""S3's operations that a store may repeat, each with a call that comes down to it."""


@contextmanager
def moto_server() -> Iterator[str]:
    """Runs the server and gives its endpoint URL."""
    script = Path(__file__).with_name("moto_server.py")
    with subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def environment(endpoint: str) -> dict[str, str]:
    """The variables under which any process, also a spawned one, talks to `endpoint` and to nothing else."""
    return {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def make_bucket(endpoint: str, name: str = BUCKET) -> None:
    """Creates the bucket."""
    import urllib.request

    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/{name}", method="PUT"), timeout=30).close()
