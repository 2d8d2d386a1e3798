"""How results leave the process: as JSON that any terminal survives, or as text."""

from __future__ import annotations

import json
import os
import re
import sys
from contextlib import suppress
from typing import Any, NamedTuple, TextIO

__all__ = ["Outcome", "as_json", "plain", "prepare", "write"]

SHOWN_AS_ESCAPES = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
"""What JSON may hold as it is, and a terminal would obey or hide."""


class Outcome(NamedTuple):
    """What a verb has to say on stdout, and its exit code."""

    text: str
    code: int = 0


def prepare(*streams: TextIO) -> None:
    """Let every character be printed somehow, also where the terminal's encoding lacks it."""
    for stream in streams:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def write(stream: TextIO, text: str) -> None:
    """Write all of `text`; a reader that has left (`… | head`) is no error."""
    try:
        stream.write(text)
        stream.flush()
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"error: the output cannot be written: {(error.strerror or str(error)).lower()}\n")
        # Python would flush once more at exit, and complain then.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def plain(value: Any) -> Any:
    """Pydantic models as dictionaries; of a locator only the fields that apply."""
    if hasattr(value, "model_dump"):
        return plain(value.model_dump(mode="json"))
    if isinstance(value, dict):
        return {key: _locator(each) if key == "locator" else plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value


def _locator(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: each for key, each in value.items() if each is not None}


def as_json(value: Any) -> str:
    """One JSON document and a line end: on one line for programs, indented on a terminal."""
    encoding = (sys.stdout.encoding or "").lower().replace("-", "")
    text = json.dumps(
        plain(value), ensure_ascii=encoding != "utf8", indent=2 if sys.stdout.isatty() else None, allow_nan=False
    )
    return SHOWN_AS_ESCAPES.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"
