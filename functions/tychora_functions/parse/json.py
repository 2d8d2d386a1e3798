"""JSON and JSON Lines: records cut along the structure, each the raw source text of its members or elements."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tychora_functions.parse import plain
from tychora_functions.parse.decode import Decoded, decode
from tychora_functions.parse.textmap import TextMap, Tiler, read_at
from tychora_functions.parse.units import Document, Unit

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["parse", "read_at"]

_LIMIT = 1200
"""Characters up to which neighbouring members or elements stay together in one record."""

_NAME = re.compile(r"[A-Za-z_$][\w$]*", re.ASCII)
_KEY = re.compile(r'(?:"(?:[^"\\]|\\.)*"\s*:\s*)?', re.S)
_CLOSING = re.compile(r"[\s,\]}]*")
_ENCODED_DATA = re.compile(r'"(?:data:[^"]{0,100},)?(?:[A-Za-z0-9+/=_-]|\\[nr/]){1000,}"')


def parse(data: bytes, name: str) -> Document:
    """The records of a JSON file, or for `.jsonl` and `.ndjson` one per line.

    A value of more than about 1,200 characters is divided into its members or elements, small neighbours staying
    together; brackets and commas go with the record beside them. `place` gives the path (`$.a.b[3]`, a run as
    `first..last`), `heading_path` the keys above. Invalid JSON is read as plain text, with a warning.
    """
    decoded = decode(data)
    if name.lower().endswith((".jsonl", ".ndjson")):
        return _parse_lines(decoded)
    root = _root(decoded.text)
    if root is None:
        document = plain.parse(data, name)
        document.warnings.append("Not valid JSON: read as plain text.")
        return document
    document = Document("data", [], warnings=list(decoded.warnings))
    document.units = _records(decoded, root)
    return document


def _parse_lines(decoded: Decoded) -> Document:
    text_map = TextMap(decoded)
    tiler = Tiler(text_map)
    invalid = []
    for number, (start, end) in enumerate(text_map.lines(), 1):
        line = text_map.text[start:end]
        tiler.add("record", start, end)
        if not line.isspace() and not _valid(line):
            invalid.append(number)
    warnings = list(decoded.warnings)
    if invalid:
        warnings.append(f"{len(invalid)} lines are not valid JSON, the first is line {invalid[0]}; kept as they are.")
    return Document("data", tiler.units, warnings=warnings)


def _valid(line: str) -> bool:
    try:
        json.loads(line)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def _root(text: str) -> Node | None:
    """The syntax tree of valid JSON (comments and several values in a row are let pass), or None."""
    import tree_sitter_json
    from tree_sitter import Language, Parser

    tree = Parser(Language(tree_sitter_json.language())).parse(text.encode())
    return None if tree.root_node.has_error else tree.root_node


@dataclass(frozen=True, slots=True)
class _Place:
    """A place in the structure: its own step (`.key`, `[3]`) and the place above it."""

    above: _Place | None
    step: str
    key: str | None = None

    @property
    def path(self) -> str:
        """From `$` down to here."""
        return "".join(place.step for place in self._from_root())

    @property
    def keys_above(self) -> tuple[str, ...]:
        """The object keys on the way, this place's own not included."""
        return tuple(place.key for place in self._from_root()[:-1] if place.key is not None)

    def _from_root(self) -> list[_Place]:
        places: list[_Place] = []
        place: _Place | None = self
        while place is not None:
            places.append(place)
            place = place.above
        return places[::-1]


@dataclass(slots=True)
class _Piece:
    """A member, element or value that is not divided further, as a range of characters."""

    start: int
    end: int
    first: _Place
    last: _Place


def _records(decoded: Decoded, root: Node) -> list[Unit]:
    """The units: runs of neighbouring pieces, each run reaching to where the next one's own text begins."""
    text = decoded.text
    tiler = Tiler(TextMap(decoded))
    start = 0
    runs = list(_runs(_pieces(text, root)))
    for index, run in enumerate(runs):
        last = index + 1 == len(runs)
        end = len(text) if last else _past(_CLOSING, text, run.end)
        path = run.first.path if run.first is run.last else f"{run.first.path}..{run.last.path}"
        encoded = _ENCODED_DATA.fullmatch(text, _past(_KEY, text, run.start), run.end)
        tiler.add(
            "record",
            start,
            end,
            heading_path=run.first.keys_above,
            path=path,
            attributes={"furniture": "true"} if encoded else None,
        )
        start = end
    if not runs:
        tiler.add("record", 0, len(text))
    return tiler.units


def _past(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.match(text, start)
    return found.end() if found else start


def _runs(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """Neighbours in one container joined up to the limit."""
    run = next(pieces, None)
    if run is None:
        return
    for piece in pieces:
        if piece.first.above is run.first.above and piece.end - run.start <= _LIMIT:
            run.end, run.last = piece.end, piece.last
        else:
            yield run
            run = piece
    yield run


def _pieces(text: str, root: Node) -> Iterator[_Piece]:
    """Every value that is small or has no parts, in order. No recursion: depth is the file's to choose."""
    characters = TextMap(Decoded(text, "utf-8"))
    values = [node for node in root.named_children if node.type != "comment"]
    top = _Place(None, "$")
    if len(values) == 1:
        pending = [iter([(values[0], values[0], top)])]
    else:
        pending = [((node, node, _Place(top, f"[{index}]")) for index, node in enumerate(values))]
    while pending:
        node, value, place = next(pending[-1], (None, None, None))
        if node is None or value is None or place is None:
            pending.pop()
            continue
        start, end = characters.character(node.start_byte), characters.character(node.end_byte)
        if end - start > _LIMIT and value.type in ("object", "array") and value.named_child_count:
            pending.append(_parts(value, place))
        else:
            yield _Piece(start, end, place, place)


def _parts(container: Node, place: _Place) -> Iterator[tuple[Node, Node, _Place]]:
    """Each member or element: the node that holds all of it, the node of its value, its place."""
    index = 0
    for node in container.named_children:
        if node.type == "pair":
            name, value = node.child_by_field_name("key"), node.child_by_field_name("value")
            if name is not None and value is not None and name.text is not None:
                yield node, value, _member(place, name.text.decode())
        elif node.type != "comment":
            yield node, node, _Place(place, f"[{index}]")
            index += 1


def _member(place: _Place, name: str) -> _Place:
    try:
        key = str(json.loads(name, strict=False))
    except ValueError:
        key = name
    return _Place(place, f".{key}" if _NAME.fullmatch(key) else f"[{json.dumps(key, ensure_ascii=False)}]", key)
