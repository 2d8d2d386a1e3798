"""Run by `make wheel-check` with the Python of a clean environment that holds nothing but the built wheel.

A workspace is made, filled and asked from a folder without a checkout; every answer on stdout has to be JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib import metadata, util
from pathlib import Path
from typing import Any

TYCHORA = Path(sys.executable).with_name("tychora")
PACKAGES = ("tychora_schemas", "tychora_format", "tychora_functions", "tychora_client")
NOT_IN_THE_BASE = {"torch", "docling", "lancedb", "pytest", "s3fs"}

NOTE = "# Pumps\n\n## 4.2 Pressure\n\nThe relief valve of pump P-1107 opens at 16 bar.\n"
CODE = 'def relief_pressure(pump: str) -> int:\n    """The pressure in bar."""\n    return 16\n'
TABLE = "pump,pressure\nP-1107,16\nP-2203,25\n"


def ask(*words: object, code: int = 0) -> Any:
    done = subprocess.run([TYCHORA, *map(str, words)], capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == code, f"{words}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    return json.loads(done.stdout)


def check_installation() -> None:
    for package in PACKAGES:
        found = util.find_spec(package)
        assert found and found.origin and Path(found.origin).is_relative_to(sys.prefix), f"{package}: {found}"
        assert Path(found.origin).with_name("py.typed").is_file(), f"{package} has no py.typed"
    installed = {(each.metadata["Name"] or "").lower() for each in metadata.distributions()}
    assert not installed & NOT_IN_THE_BASE, f"the base install brings {installed & NOT_IN_THE_BASE}"


def check_answers(folder: Path) -> None:
    documents, workspace = folder / "documents", folder / "workspace"
    documents.mkdir()
    (documents / "pumps.md").write_text(NOTE, "utf-8")
    (documents / "pumps.py").write_text(CODE, "utf-8")
    (documents / "pumps.csv").write_text(TABLE, "utf-8")

    assert ask("init", workspace)["profile"] == "documents"
    report = ask("add", workspace, documents)
    assert {each["path"] for each in report["added"]} == {"pumps.md", "pumps.py", "pumps.csv"}, report
    result = ask("search", workspace, "At what pressure does the relief valve of P-1107 open?", "-k", 1)
    (segment,) = result["segments"]
    assert segment["source"]["path"] == "pumps.md", segment
    citations = {each["id"]: each for each in result["citations"]}
    quotes = [citations[each] for each in segment["citations"]]
    assert any("opens at 16 bar" in each["quote"] and each["locator"]["lines"] for each in quotes), quotes
    assert result["coverage"]["identifiers"] == {"P-1107": True}, result["coverage"]

    assert len(ask("add", workspace, documents)["unchanged"]) == 3
    assert ask("verify", workspace)["ok"]
    assert ask("search", folder / "nowhere", "anything", code=3)["error"]["code"] == "not_found"


if __name__ == "__main__":
    check_installation()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        os.chdir(scratch)
        check_answers(Path(scratch))
    print(f"tychora {metadata.version('tychora')}: the wheel answers on its own")
