"""Citations: the places of a segment's text, one citation per place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tychora_format.extraction import unit_id
from tychora_format.tables import SourceRow
from tychora_functions.query.pieces import Piece
from tychora_schemas.identity import content_sha256, identity
from tychora_schemas.locator import Locator
from tychora_schemas.result import Citation

__all__ = ["cite", "quotes"]

PLACE = ("page", "page_label", "slide", "sheet", "part", "transform", "derived", "encoding")
"""Where two pieces differ in one of these, they are two places."""

_CELLS = re.compile(r"([A-Z]+)(\d+)(?::([A-Z]+)(\d+))?")
RANGE = ".."


def quotes(pieces: Sequence[Piece]) -> tuple[str, list[list[Piece]]]:
    """A segment's text, and the runs of pieces that are each one place.

    The runs together are all of the text; between two of them stand only blanks.
    """
    runs: list[list[Piece]] = []
    text: list[str] = []
    for piece in pieces:
        if runs and _continues(runs[-1][-1], piece):
            runs[-1].append(piece)
            text += [piece.gap, piece.text]
        else:
            if runs:
                text.append(piece.gap if not piece.gap.strip() else "\n")
            runs.append([piece])
            text.append(piece.text)
    return "".join(text), runs


def _continues(before: Piece, after: Piece) -> bool:
    """Whether two adjacent pieces are at one place: what the joined locator says is their text with the gap between."""
    first, second = before.locator, after.locator
    if not after.real or "characters" in first or "characters" in second:
        return False
    if any(first.get(name) != second.get(name) for name in PLACE) or before.literal != after.literal:
        return False
    if before.literal:
        between: int = second["bytes"][0] - first["bytes"][1]
        return between == len(after.gap.encode(after.encoding))
    if after.gap.strip() or ("page" in first and ("path" in first or "path" in second)):
        return False  # what hangs on a page, such as a note, is a place of its own
    if "cells" in first or "cells" in second:
        return _adjoining(first.get("cells"), second.get("cells"))
    return True


def _adjoining(first: str | None, second: str | None) -> bool:
    """Whether two cell ranges are rows of the same columns, one below the other."""
    above, below = _CELLS.fullmatch(first or ""), _CELLS.fullmatch(second or "")
    if not above or not below:
        return False
    same_columns = (above[1], above[3] or above[1]) == (below[1], below[3] or below[1])
    return same_columns and int(above[4] or above[2]) + 1 == int(below[2])


def cite(run: Sequence[Piece], source: SourceRow, content: str) -> Citation:
    """The citation of a run. `content` is the SHA-256 of the source's original file.

    Its id is over the revision, the quote and the units that are quoted, whose ids in turn cover their places, and
    over the bytes or characters of a part of a unit.
    """
    from tychora_functions.parse.normal import normalised

    quote = run[0].text + "".join(piece.gap + piece.text for piece in run[1:])
    units = tuple(f"unit_{unit_id(content, piece.ordinal, piece.kind, *piece.stored).hex()}" for piece in run)
    revision = source.revision_id or ""
    place = _joined([piece.locator for piece in run])
    payload = {
        "revision": revision,
        "quote": content_sha256(quote.encode("utf-8", "surrogatepass")),
        "units": " ".join(units),
        "part": str(place.get("bytes") or place.get("characters") or ""),
    }
    return Citation(
        id=identity("citation", payload),
        source_path=source.path,
        revision_id=revision,
        content_sha256=content,
        quote=quote,
        quote_normalised=normalised(quote),
        locator=Locator(**place),
        unit_ids=units,
    )


def _joined(locators: Sequence[dict[str, Any]]) -> dict[str, Any]:
    first, last = locators[0], locators[-1]
    if len(locators) == 1:
        return first
    joined = {name: first[name] for name in PLACE if name in first}
    if "bytes" in first:
        joined["bytes"] = (first["bytes"][0], last["bytes"][1])
    lines = [locator["lines"] for locator in locators if "lines" in locator]
    if lines:
        joined["lines"] = (min(line[0] for line in lines), max(line[1] for line in lines))
    boxes = [box for locator in locators for box in locator.get("boxes") or ()]
    if boxes:
        joined["boxes"] = boxes
    if "path" in first and "path" in last:
        joined["path"] = _range(first["path"], last["path"])
    if "cells" in first:
        joined["cells"] = first["cells"].partition(":")[0] + ":" + last["cells"].rpartition(":")[2]
    return joined


def _range(first: str, last: str) -> str:
    start, end = first.partition(RANGE)[0], last.rpartition(RANGE)[2]
    return start if start == end else f"{start}{RANGE}{end}"
