"""Prints what asking costs: warm at 100,000 chunks, cold at 10,000, and the start of the program.

    python benchmarks/search.py [--chunks 100000] [--cold 10000]

Asked: warm and hybrid with hydration, CPU per query p50 ≤ 20 ms and p95 ≤ 60 ms; a cold `tychora search` ≤ 0.9 s of
CPU; `tychora --help` ≤ 0.15 s of CPU.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from pathlib import Path

from corpus import VOCABULARY, paragraph
from measure import median_cost, percentile, run, tychora


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--cold", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        start()
        cold(Path(scratch), options.cold)
        warm(Path(scratch), options.chunks, options.queries)


def filled(scratch: Path, chunks: int) -> Path:
    """A workspace of about so many chunks of 450 tokens: documents of 20 sections."""
    folder, workspace = scratch / f"files-{chunks}", scratch / f"workspace-{chunks}"
    if workspace.exists():
        return workspace
    for number in range(chunks // 20):
        chance = random.Random(number)
        place = folder / f"part{number // 500:03}"
        place.mkdir(parents=True, exist_ok=True)
        sections = [f"## {paragraph(chance, 4)}\n\n{paragraph(chance, 100)}" for _ in range(20)]
        (place / f"document{number}.md").write_text("\n\n".join(sections), "utf-8")
    run(tychora("init", workspace))
    run(tychora("add", workspace, folder, "--json"))
    return workspace


def questions(count: int) -> list[str]:
    """Questions of three to eight content words, frequent and rare ones mixed as people mix them.

    The thirty most frequent words, two thirds of all text here, are left out as stop words are in a real language.
    """
    chance = random.Random(11)
    return [
        " ".join(
            VOCABULARY[min(int(30 * chance.paretovariate(0.45)), len(VOCABULARY) - 1)]
            for _ in range(chance.randint(3, 8))
        )
        for _ in range(count)
    ]


def start() -> None:
    cost = median_cost(tychora("--help"), 9)
    print(f"tychora --help: {cost.cpu:.3f} s CPU")


def cold(scratch: Path, chunks: int) -> None:
    workspace = filled(scratch, chunks)
    question = questions(1)[0]
    cost = median_cost(tychora("search", workspace, question, "--json"), 9)
    print(f"cold tychora search, {chunks:,} chunks, hybrid: {cost.cpu:.2f} s CPU, peak {cost.peak:,.0f} MB")


def warm(scratch: Path, chunks: int, count: int) -> None:
    workspace = filled(scratch, chunks)
    from tychora_client import Client

    with Client(workspace) as client:
        found = client.inspect().chunks
        for question in questions(5):
            client.search(question)
        costs = []
        for question in questions(count):
            started = time.process_time()
            client.search(question)
            costs.append((time.process_time() - started) * 1000)
    p50, p95 = percentile(costs, 0.5), percentile(costs, 0.95)
    print(f"warm, {found:,} chunks, hybrid with hydration: CPU per query p50 {p50:.1f} ms, p95 {p95:.1f} ms")


if __name__ == "__main__":
    main()
