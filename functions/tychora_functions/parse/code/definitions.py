"""What a language's module says about a definition, and what the languages have in common."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Definition", "Recogniser", "SymbolKind", "clean_comment", "node_text", "signature"]

SymbolKind = Literal["function", "method", "class", "interface", "type", "enum", "constant", "variable", "namespace"]
SIGNATURE_LIMIT = 600
"""Characters; a header that is longer is cut."""
SIGNATURE_END = re.compile(r"(?:\s|[:{=;,(]|=>)+$")
COMMENT_EDGE = re.compile(r"^\s*(?:/\*+|\*+/|\*(?!/)|//+|#+:?)[ \t]?|\s*\*+/\s*$", re.MULTILINE)


@dataclass(slots=True, frozen=True)
class Definition:
    """A definition in the source; offsets are bytes of the UTF-8 text."""

    name: str
    """Its own name, without those of what encloses it."""
    kind: SymbolKind
    start: int
    end: int
    header: tuple[int, int]
    """Where its signature stands."""
    members: Sequence[Node] = ()
    """The statements inside of it."""
    divides: bool = False
    """Whether its members are evidence of their own; otherwise only where it is too long for one unit."""
    owner: tuple[str, ...] = ()
    """What it belongs to beyond the scope it stands in: `("Session",)` for `Session.prototype.save = …`."""
    docstring: str = ""


class Recogniser(Protocol):
    """One language's knowledge of definitions."""

    transparent: frozenset[str]
    """Node types that are looked through for definitions: branches, blocks, wrappers."""

    def definition(self, node: Node, source: bytes) -> Definition | None:
        """The definition that a statement is; None for any other node. Methods may come as functions."""
        ...

    def module_docstring(self, root: Node, source: bytes) -> tuple[int, int, str] | None:
        """Start, end and cleaned text of the docstring of the whole file."""
        ...


def node_text(node: Node, source: bytes) -> str:
    """The source text of a node."""
    return source[node.start_byte : node.end_byte].decode()


def signature(definition: Definition, source: bytes) -> str:
    """The header with blanks collapsed, without the sign that opens the body."""
    start, end = definition.header
    # Four bytes a character at most: no need to collapse more than can be shown.
    text = source[start : min(end, start + 4 * SIGNATURE_LIMIT)].decode(errors="ignore")
    return SIGNATURE_END.sub("", " ".join(text.split()))[:SIGNATURE_LIMIT]


def clean_comment(text: str) -> str:
    """The words of a comment: marks and common indentation taken away."""
    return inspect.cleandoc(COMMENT_EDGE.sub("", text)).strip()
