"""A workspace that holds a small library, and the command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from library_files import write_library
from running import Ran, Run
from tychora_schemas.settings import ENVIRONMENT_PREFIX, MACHINE_VARIABLES

from tychora_client import Client


@pytest.fixture(autouse=True)
def no_settings_of_the_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever TYCHORA_ variables there are besides those about the machine, these tests start from the defaults."""
    for name in set(os.environ) - MACHINE_VARIABLES:
        if name.startswith(ENVIRONMENT_PREFIX):
            monkeypatch.delenv(name)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return write_library(tmp_path / "library")


@pytest.fixture(scope="session")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace that holds the library. Tests read it; whoever writes makes their own."""
    home = tmp_path_factory.mktemp("held")
    with pytest.MonkeyPatch.context() as patch, Client.create(home / "workspace") as client:
        for name in [name for name in os.environ if name.startswith(ENVIRONMENT_PREFIX)]:
            patch.delenv(name)
        patch.setenv("TYCHORA_CACHE", str(home / "cache"))
        patch.setenv("TYCHORA_STATE", str(home / "state"))
        report = client.add(write_library(home / "library"))
    assert not report.quarantined
    return home / "workspace"


@pytest.fixture
def client(workspace: Path) -> Client:
    return Client(workspace)


@pytest.fixture
def tychora(tmp_path: Path) -> Run:
    """Runs the command line as a process of its own, its working directory the test's folder."""

    def run(*words: str | Path | bytes, stdin: bytes = b"", **environment: str) -> Ran:
        command = [sys.executable, "-m", "tychora_client", *(os.fsencode(word) for word in words)]
        done = subprocess.run(
            command, input=stdin, capture_output=True, cwd=tmp_path, env={**os.environ, **environment}, timeout=120
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    return run
