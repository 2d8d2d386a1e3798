"""Prints how fast a workspace is checked, whole and by sample.

    python benchmarks/verify.py [--files 1500] [--original 64]

The workspace holds `--files` Markdown and code files of 2 KB and one original of `--original` MB that no parser reads.
Checked are every hash, every unit's id, and every quote against its original.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import tempfile
from pathlib import Path

from corpus import make_files
from measure import folder_bytes, run, tychora


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_500)
    parser.add_argument("--original", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        folder, workspace = Path(scratch) / "files", Path(scratch) / "workspace"
        make_files(folder, options.files)
        (folder / "noise.bin").write_bytes(random.Random(1).randbytes(options.original << 20))
        run(tychora("init", workspace))
        run(tychora("add", workspace, folder, "--json"))
        size = folder_bytes(workspace) / 1e6
        for share in ("100%", "5%"):
            cost = run(tychora("verify", workspace, "--sample", share, "--json"))
            report = json.loads(cost.output)
            assert report["ok"]
            print(
                f"verify --sample {share}: {size:.0f} MB, {report['units']:,} units: {size / cost.wall:.0f} MB/s, "
                f"{cost.wall:.1f} s, {cost.cpu:.1f} s CPU, peak {cost.peak:,.0f} MB"
            )


if __name__ == "__main__":
    main()
