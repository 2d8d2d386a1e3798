"""Gate H10: nothing that lies in a bundle, or in a corpus, is ever executed."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bundles import settings, write_corpus
from tychora_format.workspace import Workspace
from tychora_functions.add import add

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = [
    "schemas/tychora_schemas",
    "workspace_format/tychora_format",
    "functions/tychora_functions",
    "tychora_client/tychora_client",
]
FORBIDDEN = {
    "pickle.load",
    "pickle.loads",
    "pickle.Unpickler",
    "marshal.load",
    "marshal.loads",
    "shelve.open",
    "torch.load",
    "joblib.load",
    "yaml.load",
    "yaml.unsafe_load",
    "yaml.full_load",
    "runpy.run_path",
    "runpy.run_module",
    "os.system",
    "os.popen",
    "ctypes.CDLL",
    "ctypes.cdll.LoadLibrary",
    "eval",
    "exec",
    "compile",
    "__import__",
}
WORKER = "functions/tychora_functions/parse/worker.py"
ALLOWED = {(WORKER, "pickle.loads"), (WORKER, "ctypes.CDLL")}
"""A worker reads what its own parent process writes into its pipe, and asks the C library that it runs on already
(`CDLL(None)`) to end it with its parent; nothing else."""


def names_called(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


def risks(source: Path) -> list[str]:
    """The calls in a file that could run what they read."""
    tree = ast.parse(source.read_text("utf-8"))
    found = []
    for name, call in names_called(tree):
        options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        if name in FORBIDDEN:
            found.append(name)
        elif options.get("allow_pickle", "False") != "False" or options.get("trust_remote_code", "False") != "False":
            found.append(f"{name} with pickle or remote code")
        elif options.get("shell", "False") != "False":
            found.append(f"{name} with a shell")
    modules = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "yaml", "runpy"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            found.append(f"from {node.module} import")
    return found


def test_h10_no_source_of_ours_executes_what_it_reads() -> None:
    """H10: no pickle, marshal, eval, exec, shell, unsafe YAML or remote code in any package, but for the pipe between
    a worker and its parent."""
    files = [path for package in PACKAGES for path in sorted((CHECKOUT / package).rglob("*.py"))]
    assert len(files) > 50
    found = {(path.relative_to(CHECKOUT).as_posix(), risk) for path in files for risk in risks(path)}
    assert found == ALLOWED


AUDITED = """
import json, os, sys

bundle, corpus = (os.path.realpath(place) + os.sep for place in sys.argv[1:3])
events = []

def below(place):
    try:
        place = os.path.realpath(os.fsdecode(place))
    except (TypeError, ValueError):
        return False
    return place.startswith((bundle, corpus)) and os.path.exists(place)

def hook(event, arguments):
    if event == "subprocess.Popen" or event in ("os.system", "os.exec", "os.posix_spawn", "os.fork", "ctypes.dlopen"):
        events.append([event, str(arguments[:2])])
    elif event == "exec" and below(arguments[0].co_filename):
        events.append([event, arguments[0].co_filename])
    elif event == "compile" and arguments[1] is not None and below(arguments[1]):
        events.append([event, str(arguments[1])])
    elif event == "import" and arguments[1] and below(arguments[1]):
        events.append([event, str(arguments[1])])
    elif event in ("pickle.find_class", "marshal.loads"):
        caller = sys._getframe(1).f_code.co_filename
        if event == "pickle.find_class" or "importlib" not in caller:
            events.append([event, str(arguments)[:80] + " in " + caller])

from tychora_format.workspace import Workspace
from tychora_functions.query.query import query
from tychora_functions.maintain.verify import verify
from tychora_schemas.requests import QueryRequest
import lance, numpy

workspace = Workspace.open(bundle)
query(workspace, QueryRequest(question="warm up"))
sys.addaudithook(hook)
workspace = Workspace.open(bundle)
result = query(workspace, QueryRequest(question="Which article number has the pump?"))
for source in workspace.head().live_sources():
    if source.row.content_sha256:
        workspace.objects.get(source.row.content_sha256)
report = verify(workspace)
print(json.dumps({"events": events, "segments": len(result.segments), "ok": report.ok}))
"""


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A corpus whose code, named like modules that everybody imports, leaves a trace if it is ever run."""
    corpus = write_corpus(tmp_path / "corpus", files=5)
    for name in ("json", "tokens", "struct", "pickle", "numpy", "tychora_format", "sitecustomize", "conftest", "setup"):
        trace = f'import pathlib\npathlib.Path({str(tmp_path / "executed")!r}).open("a").write({name!r} + chr(10))\n'
        (corpus / f"{name}.py").write_text(f'"""The pump of {name}."""\n{trace}\ndef pump_{name}():\n    return 1\n')
    (corpus / "package").mkdir()
    (corpus / "package" / "__init__.py").write_text(trace)
    (corpus / "Makefile").write_text(f"all:\n\ttouch {tmp_path / 'executed'}\n")
    (corpus / "run.sh").write_text(f"#!/bin/sh\ntouch {tmp_path / 'executed'}\n")
    return corpus


def python(script: str, folder: Path, *arguments: str) -> str:
    """Run `script` as an installed command is run: the working directory is not on its path."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def test_h10_adding_code_does_not_run_it(trap: Path, tmp_path: Path) -> None:
    """H10: an add whose working directory is a corpus with a json.py in it runs nothing of it, workers included."""
    script = (
        "import sys; from tychora_format.workspace import Workspace; from tychora_functions.add import add\n"
        "from tychora_schemas.settings import resolve_settings\n"
        "report = add(Workspace.create(sys.argv[1]), ['.'], settings=resolve_settings(environment={}))\n"
        "print(len(report.added), len(report.quarantined))"
    )
    added, quarantined = python(script, trap, str(tmp_path / "bundle")).split()
    assert int(added) == sum(path.is_file() for path in trap.rglob("*")) and quarantined == "0"
    assert not (tmp_path / "executed").exists()


def test_h10_opening_and_asking_runs_nothing(trap: Path, tmp_path: Path) -> None:
    """H10: opening, asking and verifying a bundle of code starts no process, imports, compiles and executes nothing
    that lies in the bundle or in the working directory, and unpickles nothing."""
    add(Workspace.create(tmp_path / "bundle"), [trap], settings=settings(parse_workers=1))
    objects = tmp_path / "bundle" / "objects"
    for number, original in enumerate(sorted(objects.rglob("*"))):
        if original.is_file() and number % 2:
            original.chmod(0o755)
    said = json.loads(python(AUDITED, trap, str(tmp_path / "bundle"), str(trap)))
    assert said["ok"] and said["segments"]
    assert said["events"] == []
    assert not (tmp_path / "executed").exists()
    assert os.environ.get("TYCHORA_CACHE")
