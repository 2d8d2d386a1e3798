"""Definitions in Python."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from tychora_functions.parse.code.definitions import Definition, node_text

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Python"]


class Python:
    """Functions, classes and type aliases; methods are what stands in a class."""

    transparent = (
        frozenset(f"{name}_statement" for name in ("if", "try", "with", "for", "while", "match"))
        | frozenset(f"{name}_clause" for name in ("elif", "else", "except", "except_group", "finally", "case"))
        | {
            "block",
            "module",
        }
    )

    def definition(self, node: Node, source: bytes) -> Definition | None:
        """See `Recogniser`. The range of a decorated definition begins at its first decorator."""
        inner = node.child_by_field_name("definition") if node.type == "decorated_definition" else node
        if inner is None:
            return None
        if inner.type == "type_alias_statement":
            left = inner.child_by_field_name("left")
            if left is None:
                return None
            name = node_text(left, source).partition("[")[0]
            return Definition(name, "type", node.start_byte, node.end_byte, (inner.start_byte, left.end_byte))
        name_node, body = inner.child_by_field_name("name"), inner.child_by_field_name("body")
        if inner.type not in ("function_definition", "class_definition") or name_node is None or body is None:
            return None
        is_class = inner.type == "class_definition"
        return Definition(
            name=node_text(name_node, source),
            kind="class" if is_class else "function",
            start=node.start_byte,
            end=node.end_byte,
            header=(inner.start_byte, max(body.start_byte, name_node.end_byte)),
            members=body.children,
            divides=is_class,
            docstring=_docstring(body.children, source),
        )

    def module_docstring(self, root: Node, source: bytes) -> tuple[int, int, str] | None:
        """See `Recogniser`."""
        for child in root.children:
            if child.type == "comment":
                continue
            text = _docstring([child], source)
            return (child.start_byte, child.end_byte, text) if text else None
        return None


def _docstring(statements: list[Node], source: bytes) -> str:
    """The cleaned text of the string that the statements begin with, as written, escapes not resolved."""
    first = next((statement for statement in statements if statement.type != "comment"), None)
    if first is None or first.type != "expression_statement" or len(first.children) != 1:
        return ""
    literal = first.children[0]
    if literal.type != "string" or len(literal.children) < 2:
        return ""
    opening, closing = literal.children[0], literal.children[-1]
    if b"f" in source[opening.start_byte : opening.end_byte].lower():
        return ""
    text = source[opening.end_byte : closing.start_byte].decode()
    return inspect.cleandoc(text.replace("\r\n", "\n")).strip()
