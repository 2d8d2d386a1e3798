"""The formats that are read, one module each, and the version of what that module makes of a file.

Raising a version makes `add` read files of the format again, quarantined ones included.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from tychora_format.analysis import ANALYSIS_VERSION
from tychora_format.identifiers import IDENTIFIER_VERSION
from tychora_functions.parse.chunks import CHUNKER_VERSION
from tychora_schemas.identity import digest
from tychora_schemas.locator import Locator
from tychora_schemas.settings import ResolvedSettings

if TYPE_CHECKING:
    from tychora_functions.parse.units import Document

__all__ = ["FORMATS", "Parser", "fingerprint", "limited", "parser_of"]


class Parser(Protocol):
    """What a format's module offers."""

    def parse(self, data: bytes, name: str) -> Document:
        """Everything in the file, in reading order. Raises UnsupportedContent or MalformedContent."""

    def read_at(self, data: bytes, locator: Locator) -> str:
        """The text at a locator, read from the original bytes again."""


@dataclass(frozen=True, slots=True)
class _Format:
    module: str
    version: int
    language: str | None = None


FORMATS: dict[str, _Format] = {
    "plain": _Format("plain", 1),
    "markdown": _Format("markdown", 1),
    "html": _Format("html", 1),
    "csv": _Format("tabular", 1),
    "tsv": _Format("tabular", 1),
    "json": _Format("json", 1),
    "jsonl": _Format("json", 1),
    "pdf": _Format("pdf", 1),
    "docx": _Format("docx", 1),
    "python": _Format("code", 1, "python"),
    "javascript": _Format("code", 1, "javascript"),
    "typescript": _Format("code", 1, "typescript"),
    "tsx": _Format("code", 1, "tsx"),
}


class _CodeParser:
    """The code module with its language filled in, so that every parser is called alike."""

    def __init__(self, module: Any, language: str) -> None:
        self.parse = partial(module.parse, language=language)
        self.read_at = module.read_at


def parser_of(name: str) -> Parser:
    """The parser of a format, imported when it is first asked for."""
    entry = FORMATS[name]
    module: Any = importlib.import_module(f"tychora_functions.parse.{entry.module}")
    return module if entry.language is None else _CodeParser(module, entry.language)


def fingerprint(name: str, settings: ResolvedSettings) -> str:
    """Of everything that decides what parse makes of given bytes in this format."""
    entry = FORMATS.get(name)
    inputs = {
        "format": name,
        "version": entry.version if entry else 0,
        "chunker": CHUNKER_VERSION,
        "analysis": ANALYSIS_VERSION,
        "identifiers": IDENTIFIER_VERSION,
        "settings": settings.extraction_fingerprint(),
    }
    return digest("fingerprint-v1", inputs).hex()


def limited(mark: str, settings: ResolvedSettings) -> str:
    """The fingerprint `mark` of a file that passed a limit: it changes with the limits, so that it is tried again."""
    limits = settings.settings
    inputs = {"fingerprint": mark, "seconds": str(limits.parse_seconds), "megabytes": limits.parse_memory_megabytes}
    return digest("limited-v1", inputs).hex()
