"""Prints what compacting costs, and what batches cost a question.

    python benchmarks/upkeep.py [--chunks 100000] [--queries 150]

Asked: 40 batches of 100,000 chunks together compact within 600 MB; the median question over 40 batches takes at most
twice as long as over one. Texts are as in search.py; vectors are random: their values cost nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from corpus import paragraph
from measure import folder_bytes, percentile, run
from search import questions

FAMILY = "wordllama-256"
DOCUMENT = 20
"""Chunks of a document."""

WARMING = 5
"""Questions that are asked before the clock counts."""

COMPACT = """
import sys
from tychora_format.workspace import Workspace
from tychora_functions.maintain.compact import compact
print(compact(Workspace.open(sys.argv[1])).model_dump_json())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=150)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        few, many = (filled(Path(scratch) / f"batches-{count}", options.chunks, count) for count in (10, 40))
        before = compacted(many)
        medians = asked({1: (many, "main"), 10: (few, "main"), 40: (many, before)}, options.queries)
    for batches, (wall, cpu) in medians.items():
        print(
            f"{batches} batches, warm, hybrid: p50 {wall:.1f} ms ({wall / medians[1][0]:.2f} ×), "
            f"CPU {cpu:.1f} ms ({cpu / medians[1][1]:.2f} ×)"
        )


def filled(workspace: Path, chunks: int, batches: int) -> Path:
    """A workspace of so many chunks in so many batches, which hold the same documents whatever their number."""
    from tychora_format.batch import Embedding
    from tychora_format.extraction import input_sha256
    from tychora_format.workspace import Workspace
    from tychora_functions.publish import Change, publish

    opened = Workspace.create(workspace)
    documents = chunks // DOCUMENT
    for batch in range(batches):
        numbers = range(documents * batch // batches, documents * (batch + 1) // batches)
        parsed = [document(number) for number in numbers]
        inputs = [text for each in parsed for text in each.extraction.embedding_inputs()]
        vectors = np.random.default_rng(batch).standard_normal((len(inputs), 256), np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        embedding = Embedding(vectors.astype(np.float16), [input_sha256(text) for text in inputs])
        publish(opened, Change([each.source for each in parsed], parsed), {FAMILY: embedding})
    return workspace


def document(number: int) -> Any:
    """A parsed document of DOCUMENT sections of about 450 tokens."""
    from tychora_format.batch import Parsed
    from tychora_format.extraction import Extraction
    from tychora_format.tables import SourceRow
    from tychora_schemas.identity import content_sha256, identity

    chance = random.Random(number)
    texts = [paragraph(chance, 100) for _ in range(DOCUMENT)]
    chunks = [
        {
            "text": text,
            "heading_path": [paragraph(chance, 4)],
            "tokens": 450,
            "units": [
                {
                    "kind": "paragraph",
                    "start": 0,
                    "end": len(text),
                    "locator": json.dumps({"lines": [row + 1, row + 1]}, separators=(",", ":")),
                    "attributes": None,
                }
            ],
        }
        for row, text in enumerate(texts)
    ]
    sha256 = content_sha256("\n".join(texts).encode())
    path = f"part{number // 500:03}/document{number}.md"
    extraction = Extraction.build(
        chunks,
        content_sha256=sha256,
        fingerprint="benchmark",
        parser="plain",
        kind="document",
        language=None,
        title=None,
    )
    source = identity("source", {"collection": "default", "path": path})
    row = SourceRow(
        source_id=source,
        collection="default",
        path=path,
        paths=[path],
        root="benchmark",
        revision_id=identity("revision", {"source": source, "content": sha256}),
        content_sha256=sha256,
        size=len("\n".join(texts)),
        state="indexed",
        reason=None,
        next_step=None,
        fingerprint="benchmark",
        extraction_id=extraction.header.extraction_id,
    )
    return Parsed(extraction, row)


def asked(places: dict[int, tuple[Path, str]], count: int) -> dict[int, tuple[float, float]]:
    """The median milliseconds of a warm question, by the clock and of CPU, for each workspace and snapshot.

    Each question is asked everywhere in turn, so that whatever else the machine does meanwhile counts for all alike.
    """
    from tychora_format.workspace import Workspace
    from tychora_functions.query.query import query
    from tychora_schemas.requests import QueryRequest

    opened = {batches: (Workspace.open(workspace), at) for batches, (workspace, at) in places.items()}
    walls: dict[int, list[float]] = {batches: [] for batches in places}
    cpus: dict[int, list[float]] = {batches: [] for batches in places}
    for question in [*questions(WARMING), *questions(count)]:
        for batches, (workspace, at) in opened.items():
            wall, cpu = time.perf_counter(), time.process_time()
            query(workspace, QueryRequest(question=question, at=at))
            walls[batches].append((time.perf_counter() - wall) * 1000)
            cpus[batches].append((time.process_time() - cpu) * 1000)
    return {
        batches: (percentile(walls[batches][WARMING:], 0.5), percentile(cpus[batches][WARMING:], 0.5))
        for batches in places
    }


def compacted(workspace: Path) -> str:
    """Compact the workspace in a process of its own, say what that cost, and return the id of the snapshot before."""
    from tychora_format.workspace import Workspace

    before, size = Workspace.open(workspace).head().id, folder_bytes(workspace)
    cost = run([sys.executable, "-c", COMPACT, workspace])
    report = json.loads(cost.output)
    print(
        f"{report['batches_before']} batches of {report['rows_before']:,} chunks ({size / 1e6:.0f} MB) compacted to "
        f"{report['batches_after']}: {cost.wall:.1f} s, {cost.cpu:.1f} s CPU, peak {cost.peak:,.0f} MB, "
        f"{report['bytes_written'] / 1e6:.0f} MB written"
    )
    return before


if __name__ == "__main__":
    main()
