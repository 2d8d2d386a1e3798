"""A workspace that holds a small library, and the command line as a process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from library_files import write_library
from running import Ran, Run

from tychora_client import Client
from tychora_schemas.settings import ENVIRONMENT_PREFIX, MACHINE_VARIABLES


@pytest.fixture(autouse=True)
def no_settings_of_the_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever TYCHORA_ variables there are besides those about the machine, these tests start from the defaults."""
    for name in set(os.environ) - MACHINE_VARIABLES:
        if name.startswith(ENVIRONMENT_PREFIX):
            monkeypatch.delenv(name)
    monkeypatch.setenv("TYCHORA_PARSE_WORKERS", "1")


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
        patch.setenv("TYCHORA_PARSE_WORKERS", "1")
        patch.setenv("TYCHORA_CACHE", str(home / "cache"))
        patch.setenv("TYCHORA_STATE", str(home / "state"))
        report = client.add(write_library(home / "library"))
    assert not report.quarantined
    return home / "workspace"


@pytest.fixture
def client(workspace: Path) -> Client:
    return Client(workspace)


@pytest.fixture
def tychora(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Run:
    """Runs the command line inside this process, its working directory the test's folder."""
    from tychora_client.cli import main

    def run(*words: str | Path | bytes, **environment: str) -> Ran:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(tmp_path)
            for name, value in environment.items():
                patch.setenv(name, value)
            try:
                code = main([os.fsdecode(word) for word in words])
            except SystemExit as leaving:  # how argparse ends after --help
                code = int(leaving.code or 0)
        out, err = capsysbinary.readouterr()
        return Ran(code, out, err.decode("utf-8", "replace"))

    return run


@pytest.fixture
def process(tmp_path: Path) -> Run:
    """Runs the command line as a process of its own, its working directory the test's folder."""

    def run(*words: str | Path | bytes, stdin: bytes = b"", **environment: str) -> Ran:
        command = [sys.executable, "-m", "tychora_client", *(os.fsencode(word) for word in words)]
        done = subprocess.run(
            command, input=stdin, capture_output=True, cwd=tmp_path, env={**os.environ, **environment}, timeout=120
        )
        return Ran(done.returncode, done.stdout, done.stderr.decode("utf-8", "replace"))

    return run
