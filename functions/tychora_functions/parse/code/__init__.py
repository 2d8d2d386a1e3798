"""Source code in Python, JavaScript and TypeScript: one unit per definition, and the code between them."""

from __future__ import annotations

from tychora_functions.parse.code.definitions import Recogniser, signature
from tychora_functions.parse.code.division import borders
from tychora_functions.parse.code.grammars import LANGUAGES, syntax_tree
from tychora_functions.parse.code.javascript import JavaScript
from tychora_functions.parse.code.pieces import Piece, pieces
from tychora_functions.parse.code.python import Python
from tychora_functions.parse.code.tiling import UNIT_LIMIT, Mark, marks
from tychora_functions.parse.decode import Decoded
from tychora_functions.parse.textmap import TextMap, read_at
from tychora_functions.parse.units import Document, Unit

__all__ = ["LANGUAGES", "parse", "read_at"]

MINIFIED = 500
"""Mean characters per line from which on a file was written by a program for programs: its names say nothing.
"""


def parse(data: bytes, name: str, language: str) -> Document:
    """Read a source file in one of `LANGUAGES`. Every character but blanks at the edges is in a unit's text
    or in its `gap`; no unit is much longer than 4,000 characters. What breaks the language's rules is kept as
    code.

    A `symbol` is a definition with its decorators and `export`, of a class the part up to its first method.
    Its attributes: `name` (qualified in the file: `Signer.unsign`), `symbol_kind`, `signature`, and
    `docstring`, which is Python's or the comment directly above. All else is `code`, the file's own docstring
    a unit of its own. The heading path names the enclosing classes, functions and namespaces.

    Raises what `decode` raises, and `UnsupportedContent` for another language.
    """
    places = TextMap.of(data)
    text = places.text
    source = text.encode()
    # The grammars count in UTF-8, whatever the file is written in.
    character = TextMap(Decoded(text, "utf-8")).character
    root = syntax_tree(source, language).root_node
    found = [Mark(0, ())] if _is_minified(text) else marks(root, source, _recogniser(language))

    def cuts() -> list[int]:
        return [character(byte) for byte in borders(root, UNIT_LIMIT)]

    units: list[Unit] = []
    end = 0
    for piece in pieces(text, found, character, cuts):
        units.append(
            Unit(
                kind="code" if piece.definition is None else "symbol",
                text=text[piece.start : piece.end],
                place=places.place(piece.start),
                heading_path=piece.scope,
                gap=text[end : piece.start],
                attributes=_attributes(piece, source),
            )
        )
        end = piece.end
    return Document(kind="code", units=units, language="javascript" if language == "jsx" else language)


def _recogniser(language: str) -> Recogniser:
    return Python() if language == "python" else JavaScript()


def _is_minified(text: str) -> bool:
    lines = 1 + max(text.count("\n"), text.count("\r"))
    return len(text) > UNIT_LIMIT and len(text) > MINIFIED * lines


def _attributes(piece: Piece, source: bytes) -> dict[str, str]:
    definition = piece.definition
    if definition is None:
        return {"docstring": piece.docstring} if piece.docstring else {}
    attributes = {
        "name": ".".join((*piece.scope, definition.name)),
        "symbol_kind": definition.kind,
        "signature": signature(definition, source),
    }
    if definition.docstring:
        attributes["docstring"] = definition.docstring
    return attributes
