"""What is shipped: the wheel, the source archive, the command, and the versions that are known to work."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "tychora_schemas": "schemas",
    "tychora_format": "workspace_format",
    "tychora_functions": "functions",
    "tychora_client": "tychora_client",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive and the wheel made from it."""
    folder = tmp_path_factory.mktemp("built")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_the_wheel_holds_the_files_of_our_four_packages_and_nothing_else(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    ours = {
        path.relative_to(ROOT / folder).as_posix()
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert names == ours
    assert {f"{package}/py.typed" for package in FOLDERS} <= names


def test_the_source_archive_is_small_and_holds_no_test(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        tops = {PurePosixPath(name).parts[1] for name in opened.getnames() if "/" in name}
    assert tops >= {*FOLDERS.values(), "LICENSE", "README.md", "pyproject.toml"}
    assert not tops & {"tests", "docs", "benchmarks", ".venv", ".hypothesis"}
    assert archive.stat().st_size < 1_000_000


def test_the_command_says_the_version_of_the_distribution() -> None:
    command = [Path(sys.executable).with_name("tychora"), "--version"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert said == f"tychora {declared}\n"
    assert metadata.version("tychora") == declared


def test_every_declared_dependency_is_pinned_to_a_version_known_to_work() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = dict(re.fullmatch(r"([a-z0-9-]+)==([0-9a-z.]+)", line).groups() for line in lines)  # type: ignore[union-attr]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    asked = [
        *project["dependencies"],
        *project["optional-dependencies"]["s3"],
        *project["optional-dependencies"]["serve"],
        *project["optional-dependencies"]["dev"],
    ]
    names = {re.match(r"[A-Za-z0-9._-]+", each)[0].lower().replace("_", "-") for each in asked}  # type: ignore[index]
    assert names - {"tychora"} <= set(pins)
    assert lines == sorted(lines)
    assert "torch" not in pins
