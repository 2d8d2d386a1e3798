"""Work on a packed file in a process of its own, to be killed: `python packer.py VERB SOURCE TARGET`.

It prints "ready" when everything is loaded. `pack`, `unpack` and `rewrite` (which makes a tag called TARGET) begin
then; `hold` keeps the packed file SOURCE to itself until its input ends.
"""

from __future__ import annotations

import sys

from tychora_format.packed.pack import pack, unpack
from tychora_format.packed.rewriting import rewriting
from tychora_format.workspace import Workspace


def main(verb: str, source: str, target: str) -> None:
    if verb == "hold":
        with rewriting(source):
            print("ready", flush=True)
            sys.stdin.read()
        return
    workspace = Workspace.open(source) if verb == "pack" else None
    print("ready", flush=True)
    if workspace is not None:
        pack(workspace, target)
    elif verb == "unpack":
        unpack(source, target)
    else:
        with rewriting(source) as opened:
            opened.tags.put(target, opened.head().id)


if __name__ == "__main__":
    main(*sys.argv[1:4])
