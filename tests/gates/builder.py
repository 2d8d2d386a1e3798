"""A fresh build in a process of its own: `python builder.py URL FOLDER WORKERS PUBLISH_CHUNKS`.

It prints the content root, all unit ids and the hashes of the batches' files.
"""

from __future__ import annotations

import json
import sys
from pathlib import PurePosixPath

from bundles import settings
from tychora_format.snapshot import Snapshot
from tychora_format.workspace import Workspace
from tychora_functions.add import add


def main(url: str, folder: str, workers: int, publish_chunks: int) -> None:
    workspace = Workspace.create(url)
    add(workspace, [folder], settings=settings(parse_workers=workers, publish_chunks=publish_chunks))
    head = workspace.head()
    built = {"content_root": head.manifest.content_root, "units": units(head), "batches": files(head)}
    print(json.dumps(built))


def units(head: Snapshot) -> list[str]:
    """Every unit's id, sorted."""
    ids = []
    for batch in head.batches:
        for ordinal in range(batch.extractions.num_rows):
            extraction = batch.extraction(ordinal)
            rows = range(extraction.first_row, extraction.first_row + extraction.rows)
            leaves = [leaf for chunk in batch.chunks(rows) for leaf in unit_ids(extraction.content_sha256, chunk)]
            ids += [leaf.hex() for leaf in leaves]
    return sorted(ids)


def unit_ids(content: str, chunk: object) -> list[bytes]:
    from tychora_format.extraction import unit_id

    spans = enumerate(chunk.units, chunk.first_unit)  # type: ignore[attr-defined]
    return [unit_id(content, n, s.kind, chunk.text[s.start : s.end], s.locator) for n, s in spans]  # type: ignore[attr-defined]


def files(head: Snapshot) -> list[list[list[str]]]:
    """Per batch the names and hashes of its files, Lance's own manifest, transaction and file names excepted."""
    batches = []
    for batch in head.batches:
        named = []
        for file in batch.entry.files:
            name = PurePosixPath(file.path.removeprefix(f"batches/{batch.id}/"))
            if name.parts[0] != "vectors":
                named.append([str(name), file.sha256])
            elif name.parts[2] == "data":
                named.append([str(name.parent), file.sha256])
        batches.append(sorted(named))
    return sorted(batches)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
