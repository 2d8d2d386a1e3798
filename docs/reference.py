"""Writes the parts of the pages that follow from the code: `python docs/reference.py`.

A generated part stands between two comments, `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tychora_client import Client
from tychora_client.cli.arguments import build_parser
from tychora_functions.parse import detect
from tychora_schemas import errors, locator, receipts, requests, result, settings

__all__ = ["PARTS", "renewed"]

DOCS = Path(__file__).resolve().parent
GENERATED = re.compile(r"(<!-- generated: ([\w ]+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def renewed(text: str) -> str:
    """A page's text with its generated parts made again. Raises KeyError for a part of no known name."""
    return GENERATED.sub(lambda part: f"{part[1]}\n{PARTS[part[2]]().strip()}\n\n{part[4]}", text)


def table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines) + "\n"


def spoken(annotation: Any) -> str:
    """A type as the code writes it, without the modules."""
    text = inspect.formatannotation(annotation)
    text = re.sub(r"Annotated\[(\w+), .*?\]", r"\1", text)
    return re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", text).replace("NoneType", "None")


def default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "" if field.default_factory is None else "empty"
    value = field.default
    return "empty" if value == () else f"`{list(value) if isinstance(value, tuple) else value!r}`"


def meaning(kind: type[BaseModel], name: str) -> str:
    """The field's own description, or the one below. Raises KeyError where there is none."""
    described = kind.model_fields[name].description or MEANINGS[name]
    return described + (NOT_USED if name in UNUSED else "")


UNUSED = {"slide", "sheet", "cells"}
NOT_USED = "; no format of this version has it"

MEANINGS = {
    "added": "new sources",
    "also_at": "other live paths with the same bytes",
    "applied_scope": "what was searched: reference, snapshot, filters, channels, and how much that left",
    "boxes": "one box per line of the quote",
    "budget_contract": "what the result was allowed to hold, and what was cut",
    "bytes": "bytes that were looked at",
    "bytes_read": "bytes that were captured",
    "captured": "what would be read",
    "changed": "sources with new bytes, or read again with a new parser or new settings",
    "channels": "which searches take part; `visual`, `graph` and `tree` only give a warning in this version",
    "citations": "the citations that the segments name by id",
    "collection": "the collection it belongs to",
    "content_sha256": "SHA-256 of the whole original file",
    "coverage": "verdict, terms, identifiers",
    "decision_requirements": "always empty in this version",
    "end": "the character behind the last",
    "files": "files that batches hold and that were checked",
    "filters": "`collection`, `kind`, `path` (a shell pattern) or `language`, each with its alternatives",
    "found": "the text that stands at the place now",
    "fusion": "how rankings become one",
    "heading_path": "the headings above the text, outermost first",
    "held": "not reached before an interruption",
    "holds": "whether the quote stands at its place",
    "id": "its id",
    "identifiers": "identifier of the question: whether the evidence holds it",
    "interrupted": "the run was ended by Ctrl-C or SIGTERM",
    "kind": "`document`, `code`, `table` or `data`",
    "locator": "where the quote stands",
    "matched": "what matched the question",
    "moved": "sources at a new path with the same bytes",
    "next_step": "what to do about it",
    "note": "what to know about it",
    "ok": "no problem was found",
    "page": "1-based index of the page in the file",
    "path": "the path, as the workspace names it",
    "problems": "what is wrong, by file",
    "quarantined": "what could not be read, each with its reason",
    "query_budget_tokens": "most tokens of evidence in a result, unless the request says otherwise",
    "query_fusion": "`convex` adds scaled scores of the channels, `rrf` adds reciprocal ranks",
    "question": "any text",
    "reason": "why",
    "relations": "always empty in this version",
    "removed": "sources that are gone from below the root",
    "revision_id": "the revision that was cited: this content of this source",
    "score": "what the ranking went by; comparable within one result only",
    "seconds": "how long it took",
    "segments": "the evidence, best first",
    "segments_cut": "segments left out for the budget",
    "segments_shortened": "segments of which only a part fitted",
    "sheet": "name of a sheet",
    "size": "bytes of the file",
    "skipped": "met and deliberately not taken",
    "slide": "1-based number of a slide",
    "snapshot_id": "the snapshot that was read, or that the run left behind",
    "source": "where the text is from",
    "source_path": "the path of the source",
    "start": "the first character, from 0",
    "terms": "content word of the question: whether the evidence holds it",
    "text": "the exact text",
    "title": "the document's title, else its path",
    "tokens": "tokens that were allowed",
    "trace": "what each stage saw and how long it took, where asked for",
    "unchanged": "sources as they were",
    "units": "evidence units that were counted",
    "used_tokens": "tokens that the segments hold",
    "verdict": "whether the evidence covers the question",
    "visuals": "always empty in this version",
    "warnings": "what went wrong without failing",
}
"""What a field means whose own description is missing."""


def command_line() -> str:
    """Every verb with its arguments; first those that all of them take."""
    parser = build_parser()
    verbs = next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction)).choices
    rows = {name: arguments(verb) for name, verb in verbs.items()}
    shared = [row for row in next(iter(rows.values())) if all(row in other for other in rows.values())]
    parts = ["### every verb\n", table(("argument", "meaning"), shared)]
    for name, verb in verbs.items():
        own = [row for row in rows[name] if row not in shared]
        parts += [f"### tychora {name}\n", f"{verb.description}\n", table(("argument", "meaning"), own)]
    return "\n".join(parts)


def arguments(parser: argparse.ArgumentParser) -> list[tuple[str, ...]]:
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction)]
    return [(spelled(action), action.help or "") for action in actions]


def spelled(action: argparse.Action) -> str:
    names = ", ".join(f"`{name}`" for name in action.option_strings)
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    if not names:
        return f"`{value}`" + ("…" if action.nargs in ("+", "*") else "")
    return names if action.nargs == 0 else f"{names} `{value}`"


def exit_codes() -> str:
    """Exit code, error code, HTTP status and meaning, from the tree of errors."""
    rows = [("0", "", "done")]
    kinds: list[type[errors.TychoraError]] = [errors.TychoraError, *errors.TychoraError.__subclasses__()]
    rows += [(str(kind.exit_code), f"`{kind.code}`", first_line(kind)) for kind in kinds]
    rows[1] = ("1", "`unexpected`", "Something that nobody foresaw; run it again with `--debug` and report it.")
    rows.append((str(errors.PARTLY_DONE), "", "`add` is done, but some sources were quarantined; the report says why."))
    rows.append(("130", "", "Ended by Ctrl-C. What was committed before stays."))
    return table(("exit code", "error code", "meaning"), sorted(rows, key=lambda row: int(row[0])))


def first_line(thing: Any) -> str:
    return inspect.cleandoc(thing.__doc__ or "").partition("\n\n")[0].replace("\n", " ")


def settings_table() -> str:
    rows = [
        (f"`{name}`", default(field), f"`{spoken(field.annotation)}`", meaning(settings.Settings, name))
        for name, field in settings.Settings.model_fields.items()
    ]
    return table(("setting", "default", "type", "meaning"), rows)


def profiles() -> str:
    rows = [
        (f"`{name}`", ", ".join(f"`{key}` = `{value}`" for key, value in values.items()) or "nothing: the defaults")
        for name, values in settings.PROFILES.items()
    ]
    return table(("profile", "sets"), rows)


def models(*kinds: type[BaseModel]) -> Callable[[], str]:
    return lambda: "\n".join(part for kind in kinds for part in model_part(kind))


def model_part(kind: type[BaseModel]) -> Iterator[str]:
    yield "\n".join([f"### {kind.__name__}\n", *([first_line(kind) + "\n"] if kind.__doc__ else [])])
    rows = [
        (f"`{name}`", f"`{spoken(field.annotation)}`", default(field), meaning(kind, name))
        for name, field in kind.model_fields.items()
    ]
    yield table(("field", "type", "default", "meaning"), rows)


def client() -> str:
    """The methods of `Client` with their promises."""
    methods = [
        (name, getattr(Client, name))
        for name in ["create", *(name for name in vars(Client) if name not in ("create", "flags", "url"))]
        if not name.startswith("_") and callable(getattr(Client, name))
    ]
    return "\n".join(method_part(name, method) for name, method in methods)


def method_part(name: str, method: Any) -> str:
    parameters = inspect.signature(method).parameters.values()
    kept = [parameter for parameter in parameters if parameter.name != "self"]
    line = str(inspect.Signature(kept)).replace("'", "")
    line = re.sub(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])", "", line)
    answer = inspect.signature(method).return_annotation
    return f"### {name}\n\n```text\n{name}{line} -> {answer}\n```\n\n{inspect.cleandoc(method.__doc__ or '')}\n"


def formats_read() -> str:
    rows = [
        (form.value, " ".join(f"`.{suffix}`" for suffix in detect._SUFFIXES.get(form, "").split()) or "any other text")
        for form in detect.Format
        if form.supported
    ]
    return table(("format", "names that end in"), rows)


def formats_refused() -> str:
    rows = [
        (" ".join(f"`.{suffix}`" for suffix in detect._SUFFIXES.get(form, "").split()), f"it is {form.reason}")
        for form in detect.Format
        if form.reason
    ]
    return table(("names that usually have it", "reason in the report"), rows)


PARTS: dict[str, Callable[[], str]] = {
    "command line": command_line,
    "exit codes": exit_codes,
    "settings": settings_table,
    "profiles": profiles,
    "request": models(requests.QueryRequest),
    "result": models(
        result.QueryResult,
        result.Segment,
        result.SegmentSource,
        result.Span,
        result.Citation,
        locator.Locator,
        locator.Box,
        result.Coverage,
        result.BudgetContract,
    ),
    "reports": models(
        receipts.AddReport,
        receipts.PathReport,
        receipts.NamedPath,
        receipts.InventoryReport,
        receipts.VerifyReport,
        receipts.CitationCheck,
    ),
    "client": client,
    "formats read": formats_read,
    "formats refused": formats_refused,
}


def main() -> None:
    for page in [DOCS.parent / "README.md", *DOCS.rglob("*.md")]:
        text = page.read_text("utf-8")
        if (again := renewed(text)) != text:
            page.write_text(again, "utf-8")
            print(f"wrote {page.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
