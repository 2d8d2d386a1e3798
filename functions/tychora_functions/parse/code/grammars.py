"""The grammars that code is read with, loaded when first needed."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tychora_schemas.errors import UnsupportedContent

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

__all__ = ["LANGUAGES", "syntax_tree"]

LANGUAGES = ("python", "javascript", "jsx", "typescript", "tsx")


def syntax_tree(source: bytes, language: str) -> Tree:
    """The concrete syntax tree of UTF-8 text; offsets in it are bytes. Text that breaks the grammar's rules
    has a tree too, with `ERROR` nodes. `UnsupportedContent` for a language that is not in `LANGUAGES`.
    """
    from tree_sitter import Parser

    return Parser(_grammar(language)).parse(source)


@cache
def _grammar(language: str) -> Language:
    from tree_sitter import Language

    match language:
        case "python":
            import tree_sitter_python

            return Language(tree_sitter_python.language())
        case "javascript" | "jsx":
            import tree_sitter_javascript

            return Language(tree_sitter_javascript.language())
        case "typescript" | "tsx":
            import tree_sitter_typescript

            name = f"language_{language}"
            return Language(getattr(tree_sitter_typescript, name)())
    raise UnsupportedContent(
        f"no grammar for {language}", next_step=f"one of {', '.join(LANGUAGES)}, or read it as plain text"
    )
