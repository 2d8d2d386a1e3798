"""A writer of its own process: `python writer.py URL NAME COMMITS` appends so many small changes to a bundle.

Every fifth brings text and index files, the others are a row only. It says "ready",
waits for a line, and prints the snapshot id of each commit that it was told to have made.
"""

from __future__ import annotations

import sys

from bundles import small_change, state_change
from tychora_format.workspace import Workspace
from tychora_functions.publish import publish


def main(url: str, name: str, commits: int) -> None:
    workspace = Workspace.open(url)
    small_change(workspace, "warm.txt", "Loads what parsing needs.")
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(commits):
        path = f"{name}/{number}.txt"
        text = f"Note {number} of writer {name}."
        change = state_change(path) if number % 5 else small_change(workspace, path, text)
        published = publish(workspace, change, {})
        assert not published.conflicts
        print(published.snapshot.id, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
