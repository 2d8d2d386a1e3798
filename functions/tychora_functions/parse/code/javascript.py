"""Definitions in JavaScript and TypeScript, JSX included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tychora_functions.parse.code.definitions import Definition, SymbolKind, node_text

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["JavaScript"]

DECLARATIONS: dict[str, SymbolKind] = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "function_signature": "function",
    "class_declaration": "class",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "namespace",
    "module": "namespace",
    "method_definition": "method",
    "method_signature": "method",
    "abstract_method_signature": "method",
}
FUNCTIONS = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function_declaration"}
    | {"generator_function_declaration"}
)
CLASSES = frozenset({"class", "class_declaration", "abstract_class_declaration"})
DIVIDING = frozenset({"class", "namespace"})
VARIABLES = frozenset({"lexical_declaration", "variable_declaration"})
FIELDS = frozenset({"field_definition", "public_field_definition", "pair"})
WRAPPERS = frozenset(f"{name}_expression" for name in ("parenthesized", "as", "satisfies", "non_null", "assignment"))
EXPORTS = ("module.exports", "exports")


class JavaScript:
    """Declarations; functions, classes and objects with methods bound to a name by `const`, a field, an
    assignment or a default export; and whatever is exported.
    """

    transparent = frozenset(f"{name}_statement" for name in ("if", "try", "for", "while", "labeled", "switch")) | {
        "else_clause",
        "catch_clause",
        "finally_clause",
        "statement_block",
        "program",
    }

    def definition(self, node: Node, source: bytes) -> Definition | None:
        """See `Recogniser`. `export` and decorators are part of the range."""
        inner, exported = node, False
        # `export declare namespace A {}` wraps the declaration up to three times.
        while inner.type in ("export_statement", "ambient_declaration", "expression_statement"):
            exported = exported or inner.type != "expression_statement"
            found = _unwrapped(inner)
            if found is None:
                return None
            inner = found
        if inner.type in VARIABLES:
            return _variable(node, inner, source, exported)
        if inner.type in FIELDS:
            return _field(node, inner, source)
        if inner.type == "assignment_expression":
            return _assignment(node, inner, source)
        if inner.type == "call_expression":
            return _defined_property(node, inner, source)
        if exported and node.type == "export_statement" and node.child_by_field_name("value") == inner:
            return _bound(node, "default", inner, source)
        return _declaration(node, inner, source) if inner.type in DECLARATIONS else None

    def module_docstring(self, root: Node, source: bytes) -> tuple[int, int, str] | None:
        """None: the language has no such thing."""
        return None


def _unwrapped(node: Node) -> Node | None:
    """What a wrapping statement declares: its declaration, its default value, or its only expression."""
    for name in ("declaration", "value"):
        found = node.child_by_field_name(name)
        if found is not None:
            return found
    if node.type == "export_statement":
        return None
    inner = [child for child in node.named_children if child.type != "comment"]
    return inner[0] if len(inner) == 1 else None


def _declaration(outer: Node, node: Node, source: bytes) -> Definition:
    kind = DECLARATIONS[node.type]
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    value = node.child_by_field_name("value")
    opening = body or value
    return Definition(
        name="default" if name is None else node_text(name, source).strip("\"'`"),
        kind=kind,
        start=outer.start_byte,
        end=outer.end_byte,
        header=(outer.start_byte, outer.end_byte if opening is None else opening.start_byte),
        members=() if body is None else body.children,
        divides=kind in DIVIDING,
    )


def _variable(outer: Node, node: Node, source: bytes, exported: bool) -> Definition | None:
    declarators = [child for child in node.named_children if child.type == "variable_declarator"]
    if not declarators:
        return None
    name, value = declarators[0].child_by_field_name("name"), declarators[0].child_by_field_name("value")
    if name is None:
        return None
    bound = _bound(outer, node_text(name, source), value, source) if len(declarators) == 1 else None
    if bound is not None or not exported:
        return bound
    is_constant = node.children[0].type == "const"
    typed = declarators[0].child_by_field_name("type") or name
    names = [found for one in declarators if (found := one.child_by_field_name("name")) is not None]
    return Definition(
        name=", ".join(node_text(found, source) for found in names),
        kind="constant" if is_constant else "variable",
        start=outer.start_byte,
        end=outer.end_byte,
        header=(outer.start_byte, typed.end_byte),
    )


def _field(outer: Node, node: Node, source: bytes) -> Definition | None:
    """A class field or a pair of an object, if it holds a function."""
    name = node.child_by_field_name("name") or node.child_by_field_name("property")
    name = name or node.child_by_field_name("key")
    value = _bare(node.child_by_field_name("value"))
    if name is None or value is None or value.type not in FUNCTIONS:
        return None
    found = _bound(outer, node_text(name, source).strip("\"'`"), value, source)
    return None if found is None else _as_method(found)


def _assignment(outer: Node, node: Node, source: bytes) -> Definition | None:
    """`Session.prototype.save = function …`, `exports.open = …`, `module.exports = { … }`."""
    target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    if target is None or target.type not in ("member_expression", "identifier"):
        return None
    value = _bare(value)
    name = node_text(target, source).removesuffix(".prototype")
    if value is not None and name in EXPORTS:
        own = value.child_by_field_name("name")
        return _bound(outer, name if own is None else node_text(own, source), value, source)
    for prefix in EXPORTS:
        name = name.removeprefix(f"{prefix}.")
    owner, is_method, member = name.partition(".prototype.")
    found = _bound(outer, member if is_method else name, value, source)
    if found is None or not is_method:
        return found
    return _as_method(found, (owner,))


def _defined_property(outer: Node, node: Node, source: bytes) -> Definition | None:
    """`Object.defineProperty(Session.prototype, "isNew", { get: function … })`."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or len(arguments.named_children) != 3:
        return None
    target, name, descriptor = arguments.named_children
    if node_text(function, source) != "Object.defineProperty" or name.type != "string":
        return None
    if target.type not in ("identifier", "member_expression") or descriptor.type != "object":
        return None
    found = _bound(outer, node_text(name, source).strip("\"'"), descriptor, source)
    if found is None:
        return None
    owner = node_text(target, source).removesuffix(".prototype")
    header = (outer.start_byte, descriptor.start_byte)
    return replace(found, kind="method", owner=(owner,), header=header, members=(), divides=False)


def _bound(outer: Node, name: str, value: Node | None, source: bytes) -> Definition | None:
    """What a name is bound to, if that is a function, a class, or an object that holds functions."""
    value = _bare(value)
    if value is None:
        return None
    body = value.child_by_field_name("body")
    if value.type in FUNCTIONS:
        kind: SymbolKind = "function"
    elif value.type in CLASSES:
        kind = "class"
    elif value.type == "object" and any(_holds_function(child) for child in value.named_children):
        kind, body = "constant", value
    else:
        return None
    if name == "default" and (own := value.child_by_field_name("name")) is not None:
        name = node_text(own, source)
    return Definition(
        name=name,
        kind=kind,
        start=outer.start_byte,
        end=outer.end_byte,
        header=(outer.start_byte, outer.end_byte if body is None else body.start_byte),
        members=() if body is None else body.children,
        divides=kind != "function",
    )


def _bare(value: Node | None) -> Node | None:
    """The value without parentheses and type assertions around it, and of chained assignments the last."""
    while value is not None and value.type in WRAPPERS:
        if value.type == "assignment_expression":
            value = value.child_by_field_name("right")
        else:
            value = next((child for child in value.named_children if child.type != "comment"), None)
    return value


def _holds_function(member: Node) -> bool:
    if member.type == "method_definition":
        return True
    value = _bare(member.child_by_field_name("value")) if member.type == "pair" else None
    return value is not None and value.type in FUNCTIONS


def _as_method(found: Definition, owner: tuple[str, ...] = ()) -> Definition:
    return replace(found, kind="method" if found.kind == "function" else found.kind, owner=owner)
