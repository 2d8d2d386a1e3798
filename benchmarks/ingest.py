"""Prints what adding costs: files a minute, PDF pages a second, one large text, re-adding, memory, size of the bundle.

    python benchmarks/ingest.py [--files 1500] [--pdf FOLDER]

Asked: ≥ 1,500 files of 2 KB a minute; ≥ 8 born-digital PDF pages a second and core; a 3 MB text in ≤ 5 s; re-adding
1,000 unchanged files in ≤ 2 s of CPU; ≤ 1.5 GB of memory; a bundle without originals ≤ 1.6 × the text it indexes.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from corpus import make_files, paragraph
from measure import Cost, folder_bytes, run, tychora

CHECKOUT = Path(__file__).resolve().parent.parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=1_500)
    parser.add_argument("--pdf", type=Path, default=CHECKOUT.parent / "shared" / "corpus" / "pdf")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        small_files(Path(scratch), options.files)
        unchanged(Path(scratch))
        large_text(Path(scratch))
        if options.pdf.is_dir():
            pages(Path(scratch), options.pdf)


def added(scratch: Path, name: str, folder: Path) -> tuple[Path, Cost]:
    workspace = scratch / f"{name}-workspace"
    run(tychora("init", workspace))
    return workspace, run(tychora("add", workspace, folder, "--json"))


def small_files(scratch: Path, count: int) -> None:
    make_files(scratch / "small", count)
    workspace, cost = added(scratch, "small", scratch / "small")
    text = folder_bytes(scratch / "small")
    bundle = folder_bytes(workspace / "batches", workspace / "snapshots", workspace / "log")
    report = json.loads(cost.output)
    print(
        f"{count} files of 2 KB: {count / cost.wall * 60:,.0f} a minute, {count / cost.cpu * 60:,.0f} a CPU minute; "
        f"{report['chunks']} chunks; peak {cost.peak:,.0f} MB; bundle without originals {bundle / text:.2f} × the text"
    )


def unchanged(scratch: Path) -> None:
    make_files(scratch / "thousand", 1_000)
    workspace, _ = added(scratch, "thousand", scratch / "thousand")
    again = run(tychora("add", workspace, scratch / "thousand", "--json"))
    assert len(json.loads(again.output)["unchanged"]) == 1_000
    print(f"1,000 unchanged files added again: {again.cpu:.2f} s CPU")


def large_text(scratch: Path) -> None:
    import random

    folder = scratch / "large"
    folder.mkdir()
    chance = random.Random(3)
    text = "\n\n".join(paragraph(chance, 80) for _ in range(3_750))
    (folder / "large.txt").write_text(text, "utf-8")
    _, cost = added(scratch, "large", folder)
    print(f"one text of {len(text) / 1e6:.1f} MB: {cost.wall:.1f} s, {cost.cpu:.1f} s CPU, peak {cost.peak:,.0f} MB")


def pages(scratch: Path, folder: Path) -> None:
    import pypdfium2

    count = 0
    for path in sorted(folder.glob("*.pdf")):
        try:
            with pypdfium2.PdfDocument(path) as document:
                count += len(document)
        except pypdfium2.PdfiumError:
            continue
    _, cost = added(scratch, "pdf", folder)
    print(
        f"{count} PDF pages: {count / cost.cpu:.1f} a CPU second, {count / cost.wall:.1f} a second; "
        f"peak {cost.peak:,.0f} MB"
    )


if __name__ == "__main__":
    main()
