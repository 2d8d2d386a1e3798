"""Where the definitions of a file begin and end: every character is in one of them or between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tychora_functions.parse.code.definitions import Definition, Recogniser, clean_comment

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["UNIT_LIMIT", "Mark", "marks"]

UNIT_LIMIT = 4000
"""The most characters of one unit. Statements of more bytes are searched for definitions inside of them."""
DEPTH_LIMIT = 20
"""Definitions nested deeper stay part of the one around them."""


@dataclass(slots=True, frozen=True)
class Mark:
    """From byte `start` to the next mark, the source is `definition`, or else code that stands in `scope`."""

    start: int
    scope: tuple[str, ...]
    definition: Definition | None = None
    docstring: str = ""
    """Of the whole file, where the mark stands at it."""


@dataclass(slots=True, frozen=True)
class _Statement:
    node: Node
    start: int
    """Where its decorators begin."""
    comment: tuple[int, int] | None
    """The range of the comments directly above."""
    scope: tuple[str, ...]
    in_class: bool


def marks(root: Node, source: bytes, recogniser: Recogniser) -> list[Mark]:
    """The marks of a file, in order; the first is at 0.

    A definition that divides (a class), or is longer than `UNIT_LIMIT`, ends where its first member begins,
    and what stands between its members is code in its scope. A comment directly above a definition has a mark
    of its own, and is the docstring of a definition without one.
    """
    found = [Mark(0, ())]
    docstring = recogniser.module_docstring(root, source)
    if docstring is not None:
        start, end, text = docstring
        found += [Mark(start, (), docstring=text), Mark(end, ())]
    pending: list[_Statement | Mark] = _reversed(_statements(root.children, source, (), False))
    while pending:
        item = pending.pop()
        if isinstance(item, Mark):
            found.append(item)
            continue
        definition = recogniser.definition(item.node, source)
        if definition is None:
            if _looks_through(item.node, recogniser):
                pending += _reversed(_statements(item.node.children, source, item.scope, item.in_class))
            continue
        definition = _completed(definition, item, source)
        scope = item.scope + definition.owner
        if item.comment is not None:
            found.append(Mark(item.comment[0], scope))
        found.append(Mark(definition.start, scope, definition))
        pending.append(Mark(definition.end, item.scope))
        is_long = definition.end - definition.start > UNIT_LIMIT
        if (definition.divides or is_long) and len(scope) < DEPTH_LIMIT:
            inside = (*scope, definition.name)
            pending += _reversed(_statements(definition.members, source, inside, definition.kind == "class"))
    return found


def _completed(definition: Definition, statement: _Statement, source: bytes) -> Definition:
    docstring = definition.docstring
    if not docstring and statement.comment is not None:
        start, end = statement.comment
        docstring = clean_comment(source[start:end].decode())
    is_method = statement.in_class and definition.kind == "function"
    return replace(
        definition,
        start=min(definition.start, statement.start),
        kind="method" if is_method else definition.kind,
        docstring=docstring,
    )


def _looks_through(node: Node, recogniser: Recogniser) -> bool:
    if node.type in recogniser.transparent or node.type == "ERROR":
        return True
    return node.end_byte - node.start_byte > UNIT_LIMIT


def _statements(nodes: Sequence[Node], source: bytes, scope: tuple[str, ...], in_class: bool) -> Iterator[_Statement]:
    comments: list[Node] = []
    decorator: Node | None = None
    row = -1
    """The last row of what came before."""
    for node in nodes:
        first, last = node.start_point.row, node.end_point.row
        if node.type == "comment":
            if comments and first > row + 1:
                comments = []
            # A comment on the row of other code speaks of that.
            if comments or first != row:
                comments.append(node)
        elif node.type == "decorator":
            decorator = decorator or node
        else:
            start = decorator or node
            above = comments if comments and _is_above(comments[-1], start, source) else []
            yield _Statement(
                node,
                start.start_byte,
                (above[0].start_byte, above[-1].end_byte) if above else None,
                scope,
                in_class,
            )
            comments, decorator = [], None
        row = last


def _is_above(comment: Node, node: Node, source: bytes) -> bool:
    """On the row before, or, for a documentation comment, with one blank row between."""
    distance = node.start_point.row - comment.end_point.row
    return distance <= (2 if source.startswith(b"/**", comment.start_byte) else 1)


def _reversed(statements: Iterator[_Statement]) -> list[_Statement | Mark]:
    return list(reversed(list(statements)))
