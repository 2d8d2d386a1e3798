"""An add of its own process, to be killed: `python adder.py URL FOLDER PUBLISH_CHUNKS`.

It prints "ready" when everything is loaded, a line for each stage of the run, and at last the report.
"""

from __future__ import annotations

import sys

from bundles import settings
from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_functions.progress import Progress


def main(url: str, folder: str, publish_chunks: int) -> None:
    workspace = Workspace.open(url)
    stages: list[str] = []

    def watch(progress: Progress) -> None:
        if stages[-1:] != [progress.stage]:
            stages.append(progress.stage)
            print(progress.stage, flush=True)

    print("ready", flush=True)
    report = add(workspace, [folder], settings=settings(publish_chunks=publish_chunks, parse_workers=1), progress=watch)
    print(report.model_dump_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
