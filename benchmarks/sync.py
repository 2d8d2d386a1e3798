"""Prints what syncing costs: seconds, bytes and requests of a first clone, of a change of 1 %, and of nothing to do.

    python benchmarks/sync.py [--files 1000] [--rounds 3]

From a directory to a directory, and from a directory over an S3 server on this machine (moto) to a directory. Asked: a
change of 1 % moves at most 5 % of the bytes; a sync with nothing to do asks each place at most three times.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus import make_files, paragraph
from measure import run, tychora

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from support import s3
from tychora_format.cache import Cache
from tychora_functions.copies.sync import sync

Figures = dict[str, list[tuple[float, int, int, int]]]
"""What was done → per round its seconds, bytes, files and requests to the S3 server."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch, s3.moto_server() as endpoint:
        os.environ |= s3.environment(endpoint)
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        s3.make_bucket(endpoint)
        folder = Path(scratch)
        before, after = sources(folder, options.files)
        figures: Figures = defaultdict(list)
        with counted_requests() as requests:
            for number in range(options.rounds):
                one_round(folder / f"round{number}", before, after, figures, requests)
        show(figures)


def sources(folder: Path, files: int) -> tuple[Path, Path]:
    """A workspace, and the same one after 1 % of its files has changed."""
    make_files(folder / "files", files)
    before, after = folder / "before", folder / "after"
    run(tychora("init", before))
    run(tychora("add", before, folder / "files"))
    shutil.copytree(before, after)
    chance = random.Random(2)
    for path in sorted((folder / "files").rglob("*.md"))[: max(1, files // 100)]:
        path.write_text(f"# Changed\n\n{paragraph(chance, 200)}\n", "utf-8")
    run(tychora("add", after, folder / "files"))
    return before, after


@contextmanager
def counted_requests() -> Iterator[list[int]]:
    """A list with one number: the requests that went to S3 so far."""
    from tychora_format.store.s3 import S3Store

    count, ask = [0], S3Store._ask

    async def counting(self: S3Store, operation: str, **arguments: Any) -> dict[str, Any]:
        count[0] += 1
        return await ask(self, operation, **arguments)

    S3Store._ask = counting  # type: ignore[method-assign]
    try:
        yield count
    finally:
        S3Store._ask = ask  # type: ignore[method-assign]


def one_round(folder: Path, before: Path, after: Path, figures: Figures, requests: list[int]) -> None:
    bucket = f"s3://{s3.BUCKET}/{folder.name}"
    caches = {name: Cache(folder / name) for name in ("here", "there")}

    def timed(what: str, source: str | Path, destination: str | Path, machine: str = "here") -> None:
        asked, started = requests[0], time.perf_counter()
        report = sync(str(source), str(destination), cache=caches[machine])
        seconds = time.perf_counter() - started
        figures[what].append((seconds, report.moved_bytes, report.files, requests[0] - asked))

    timed("directory to directory: clone", before, folder / "copy")
    timed("directory to directory: 1 % changed", after, folder / "copy")
    timed("directory to directory: nothing to do", after, folder / "copy")
    timed("directory to S3: clone", before, bucket)
    timed("S3 to directory: clone", bucket, folder / "pulled", "there")
    timed("directory to S3: 1 % changed", after, bucket)
    timed("S3 to directory: 1 % changed", bucket, folder / "pulled", "there")
    timed("directory to S3: nothing to do", after, bucket)
    timed("S3 to directory: nothing to do", bucket, folder / "pulled", "there")


def show(figures: Figures) -> None:
    for what, rounds in figures.items():
        seconds, moved, files, requests = (statistics.median(each) for each in zip(*rounds, strict=True))
        print(
            f"{what}: {seconds:.2f} s, {moved / 1e6:.2f} MB moved, {files:,.0f} files"
            + (f", {requests:,.0f} requests" if "S3" in what else "")
        )


if __name__ == "__main__":
    main()
