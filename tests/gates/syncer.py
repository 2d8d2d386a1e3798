"""A sync of its own process, to be killed: `python syncer.py SOURCE DESTINATION`.

It moves in small blocks, prints "ready" when everything is loaded, a line for each step of the transfer, and at last
the report.
"""

from __future__ import annotations

import sys

from tychora_format import transfer
from tychora_functions.copies.sync import sync
from tychora_functions.progress import Progress


def main(source: str, destination: str) -> None:
    transfer.BLOCK = 1 << 16
    print("ready", flush=True)

    def watch(progress: Progress) -> None:
        print(progress.stage, progress.bytes_done, flush=True)

    print(sync(source, destination, progress=watch).model_dump_json(), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
