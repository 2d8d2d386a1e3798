"""Gate S1: the same inputs, built afresh under other circumstances."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bundles import write_corpus

BUILDER = Path(__file__).with_name("builder.py")

CIRCUMSTANCES = [
    {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "workers": "1"},
    {"TZ": "Asia/Kathmandu", "LC_ALL": "C", "PYTHONHASHSEED": "1", "workers": "2"},
    {"TZ": "America/St_Johns", "LC_ALL": "POSIX", "PYTHONHASHSEED": "4294967295", "workers": "3"},
    {"TZ": "Pacific/Chatham", "LC_ALL": "de_DE.UTF-8", "PYTHONHASHSEED": "random", "workers": "2"},
    {"TZ": "<+14>-14", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "77", "workers": "4"},
]


def build(folder: Path, files: list[tuple[Path, str]], circumstance: dict[str, str], chunks: int) -> dict[str, Any]:
    """Copy the files below a folder called `corpus` in the given order, and build a bundle of them."""
    corpus = folder / "corpus"
    for file, name in files:
        (corpus / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, corpus / name)
    own = {"TYCHORA_CACHE": str(folder / "cache"), "TYCHORA_STATE": str(folder / "state")}
    surroundings = {key: value for key, value in circumstance.items() if key.isupper()}
    command = [sys.executable, str(BUILDER), str(folder / "bundle"), str(corpus), circumstance["workers"]]
    done = subprocess.run(
        [*command, str(chunks)],
        env={**os.environ, **own, **surroundings},
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.parametrize("publish_chunks", [20_000, 15], ids=["one batch", "several batches"])
def test_s1_fresh_builds_agree(tmp_path: Path, seed: int, publish_chunks: int) -> None:
    """S1: the same inputs built fresh in other directories, orders of creation, time zones, locales, hash seeds and
    numbers of workers: same content root and unit ids, same batch bytes, Lance's manifest and names excepted."""
    source = write_corpus(tmp_path / "source", files=25)
    files = [(path, path.relative_to(source).as_posix()) for path in sorted(source.rglob("*")) if path.is_file()]
    (source / "part0" / "long.txt").write_text("\n\n".join(f"Sentence {n} of a long note." for n in range(3_000)))
    files.append((source / "part0" / "long.txt", "part0/a long note.txt"))
    chance = random.Random(seed)
    builds = []
    for number, circumstance in enumerate(CIRCUMSTANCES):
        chance.shuffle(files)
        folder = tmp_path.joinpath(*["deep"] * number, f"place{number}")
        folder.mkdir(parents=True)
        builds.append(build(folder, files, circumstance, publish_chunks))
    first = builds[0]
    assert first["units"] and (len(first["batches"]) > 1) == (publish_chunks == 15)
    for other in builds[1:]:
        assert other["content_root"] == first["content_root"]
        assert other["units"] == first["units"]
    for other in builds[1:]:
        assert other["batches"] == first["batches"]
