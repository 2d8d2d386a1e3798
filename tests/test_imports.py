"""Who may import whom, and what an import may cost."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {
    "tychora_schemas": ROOT / "schemas/tychora_schemas",
    "tychora_format": ROOT / "workspace_format/tychora_format",
    "tychora_functions": ROOT / "functions/tychora_functions",
    "tychora_client": ROOT / "tychora_client/tychora_client",
}
ORDER = list(FOLDERS)
"""Imports point from later to earlier packages."""

STEPS = ("capture", "parse", "embed", "publish")

HEAVY = {
    *("duckdb", "pyarrow", "lance", "lancedb", "tantivy", "numpy", "docling", "torch", "fsspec", "s3fs", "tokenizers"),
    *("wordllama", "pydantic", "rfc8785", "lxml", "pypdfium2", "tree_sitter", "asyncio", "charset_normalizer"),
}


def imported(path: Path, module: str) -> Iterator[str]:
    """The full names of all that a file imports, anywhere in it."""
    package = module.split(".") if path.name == "__init__.py" else module.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def modules() -> Iterator[tuple[str, Path]]:
    for package, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            yield ".".join([package, *(part for part in parts if part != "__init__")]), path


@pytest.mark.parametrize("package", ORDER)
def test_imports_point_down_the_house(package: str) -> None:
    allowed = set(ORDER[: ORDER.index(package) + 1])
    wrong = {
        f"{module} imports {name}"
        for module, path in modules()
        if module.split(".")[0] == package
        for name in imported(path, module)
        if name.split(".")[0] in {*ORDER, "deploy", "modal", "modal_app"} - allowed
    }
    assert not wrong


def test_deploy_imports_functions_and_client_only() -> None:
    wrong = {
        f"{path.name} imports {name}"
        for path in (ROOT / "deploy").rglob("*.py")
        for name in imported(path, path.stem)
        if name.split(".")[0] in {"tychora_schemas", "tychora_format"}
    }
    assert not wrong


def test_the_steps_never_import_each_other() -> None:
    def step(name: str) -> str | None:
        parts = name.split(".")
        return parts[1] if len(parts) > 1 and parts[0] == "tychora_functions" and parts[1] in STEPS else None

    wrong = {
        f"{module} imports {name}"
        for module, path in modules()
        for name in imported(path, module)
        if step(module) and step(name) and step(module) != step(name)
    }
    assert not wrong


def loaded_after(code: str) -> set[str]:
    """Which heavy modules a fresh interpreter has loaded after `code`."""
    report = f"{code}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return HEAVY & set(done.stdout.splitlines()[-1].split())


def test_importing_the_client_package_loads_nothing_heavy() -> None:
    assert loaded_after("import tychora_client") == set()


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["search", "--help"], ["nonsense"]])
def test_help_version_and_usage_errors_load_nothing_heavy(words: list[str]) -> None:
    code = f"from tychora_client.cli import main\ntry:\n    main({words!r})\nexcept SystemExit:\n    pass"
    assert loaded_after(code) == set()


def test_the_client_is_importable_by_name() -> None:
    """`from tychora_client import Client, AsyncClient` works, though neither is loaded with the package."""
    code = "from tychora_client import AsyncClient, Client; print(Client.__name__, AsyncClient.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["Client", "AsyncClient"]


def test_every_module_names_what_it_exports() -> None:
    """Each module that holds anything has an `__all__`, sorted as ruff wants it, and everything in it exists."""
    missing = set()
    for module, path in modules():
        tree = ast.parse(path.read_text("utf-8"))
        named = [
            node for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ]
        holds = any(isinstance(node, ast.ClassDef | ast.FunctionDef) for node in tree.body)
        if holds and not named:
            missing.add(module)
    assert not missing
