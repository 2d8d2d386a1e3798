"""Prints what packing and unpacking cost, against a plain copy of the same files.

    python benchmarks/pack.py [--large 48] [--small 2000]

Asked: pack and unpack at no less than half the MB/s of `shutil.copytree`, which neither hashes nor waits for the disk.
The bundle holds `--large` originals of 8 MB and `--small` ones of 16 KB, and a batch that names them.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measure import Cost, folder_bytes
from tychora_format.packed.pack import pack, unpack
from tychora_format.store.packed import PackedStore
from tychora_format.tables import SourceRow
from tychora_format.workspace import Workspace
from tychora_functions.plan import revision_identity
from tychora_functions.publish import Change, publish
from tychora_schemas.identity import content_sha256, identity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=int, default=48)
    parser.add_argument("--small", type=int, default=2_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        folder = Path(scratch)
        workspace = made(folder / "workspace", [8 << 20] * options.large + [16 << 10] * options.small)
        size = folder_bytes(folder / "workspace") / 1e6
        file = folder / "bundle.tychora"
        copied = median(lambda: shutil.copytree(folder / "workspace", folder / "copy"), folder / "copy")
        packed = median(lambda: pack(workspace, file), file)
        pack(workspace, file)
        unpacked = median(lambda: unpack(file, folder / "unpacked"), folder / "unpacked")
        opened = median(lambda: PackedStore(file), None)
        print(f"{options.large + options.small} originals, {size:,.0f} MB")
        for name, cost in (("copytree", copied), ("pack", packed), ("unpack", unpacked)):
            print(
                f"{name}: {size / cost.wall:,.0f} MB/s, {size / cost.cpu:,.0f} MB a CPU second; "
                f"{copied.wall / cost.wall:.2f} and {copied.cpu / cost.cpu:.2f} × the plain copy"
            )
        print(f"packed: {file.stat().st_size / size / 1e6:.3f} × the files; opened in {opened.cpu * 1e3:.0f} ms of CPU")


def made(place: Path, sizes: list[int]) -> Workspace:
    """A bundle of originals of these sizes, the same for the same sizes."""
    workspace = Workspace.create(place)
    chance = random.Random(1)
    rows = []
    for number, size in enumerate(sizes):
        data = chance.randbytes(size)
        sha256 = content_sha256(data)
        workspace.objects.put(sha256, data)
        path = f"original{number}.bin"
        source_id = identity("source", {"collection": "default", "path": path})
        revision = revision_identity(source_id, sha256)
        row = SourceRow(
            source_id,
            "default",
            path,
            [path],
            "originals",
            revision,
            sha256,
            size,
            "held",
            "a benchmark",
            None,
            "",
            None,
        )
        rows.append(row)
    publish(workspace, Change(rows), {})
    return workspace


def median(work: Callable[[], object], made: Path | None, times: int = 5) -> Cost:
    """What `work` costs in this process; what it made is removed before each run."""
    walls, cpus = [], []
    for _ in range(times):
        if made is not None and made.is_dir():
            shutil.rmtree(made)
        elif made is not None:
            made.unlink(missing_ok=True)
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return Cost(statistics.median(cpus), statistics.median(walls), 0)


if __name__ == "__main__":
    main()
