"""Writes the parts of the pages that follow from the code: `python docs/reference.py`.

A generated part stands between two comments, `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from tychora_client import Client, copies
from tychora_client.cli.arguments import build_parser
from tychora_client.upkeep import Upkeep
from tychora_functions.parse import detect
from tychora_schemas import (
    difference,
    errors,
    locator,
    maintenance,
    proof,
    receipts,
    requests,
    result,
    settings,
    transport,
)

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
    """The field's own description, or one of those below. Raises KeyError where there is none."""
    described = kind.model_fields[name].description or MEANINGS.get(f"{kind.__name__}.{name}") or MEANINGS[name]
    return described + (NOT_USED if name in UNUSED else "")


UNUSED = {"slide", "sheet", "cells"}
NOT_USED = "; no format of this version has it"

MEANINGS = {
    "added": "new sources",
    "also_at": "other live paths with the same bytes",
    "applied_scope": "what was searched: reference, snapshot, filters, channels, and how much that left",
    "batches_after": "batches that it has now",
    "batches_before": "batches of the newest snapshot until now",
    "boxes": "one box per line of the quote",
    "budget_contract": "what the result was allowed to hold, and what was cut",
    "bytes": "bytes that were looked at",
    "bytes_read": "bytes that were captured",
    "bytes_written": "bytes of the new batches",
    "captured": "what would be read",
    "changed": "sources with new bytes, or read again with a new parser or new settings",
    "channels": "which searches take part; `visual`, `graph` and `tree` only give a warning in this version",
    "citations": "the citations that the segments name by id",
    "collection": "the collection it belongs to",
    "content_sha256": "SHA-256 of the whole original file",
    "coverage": "verdict, terms, identifiers",
    "decision_requirements": "always empty in this version",
    "dry_run": "nothing was changed: this is what would be",
    "end": "the character behind the last",
    "files": "files that batches hold and that were checked",
    "filters": "`collection`, `kind`, `path` (a shell pattern) or `language`, each with its alternatives",
    "format": "the format that it has now",
    "format_before": "the format that the workspace had",
    "found": "the text that stands at the place now",
    "fusion": "how rankings become one",
    "heading_path": "the headings above the text, outermost first",
    "held": "not reached before an interruption",
    "holds": "whether the quote stands at its place",
    "id": "its id",
    "identifiers": "identifier of the question: whether the evidence holds it",
    "interrupted": "the run was ended by Ctrl-C or SIGTERM",
    "kept_revision": "the revision that is current",
    "kind": "`document`, `code`, `table` or `data`",
    "locator": "where the quote stands",
    "matched": "what matched the question",
    "moved": "sources at a new path with the same bytes",
    "newest": "the newest format that this version knows",
    "next_step": "what to do about it",
    "note": "what to know about it",
    "notes": "what is no fault, or may be one: look at it",
    "ok": "no problem was found",
    "other_revision": "the revision that stays in the history; null where it was removed",
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
    "removed_bytes": "their bytes",
    "revision_id": "the revision that was cited: this content of this source",
    "rows_after": "chunk rows that they hold now",
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
    "snapshots_removed": "ids of the old snapshots among them",
    "source": "where the text is from",
    "source_id": "the id of the source",
    "source_path": "the path of the source",
    "start": "the first character, from 0",
    "statement_id": "the id of the statement",
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
    "AnswerDrift.question": "the question that was asked of both",
    "AnswerDrift.segments": "segments that came, left, or changed their rank",
    "AnswerDrift.verdict_after": "the second snapshot's verdict",
    "AnswerDrift.verdict_before": "the first snapshot's verdict",
    "CollectReport.removed": "files that were removed",
    "CompactReport.snapshot_id": "the newest snapshot afterwards",
    "DifferenceReport.after": "the second snapshot",
    "DifferenceReport.answers": "for each question, how the evidence drifts",
    "DifferenceReport.before": "the first snapshot",
    "DifferenceReport.sources": "sources that differ, by collection and path",
    "DifferenceReport.unchanged": "how many sources are the same in both",
    "DriftedSegment.rank_after": "its rank in the second snapshot, from 1",
    "DriftedSegment.rank_before": "its rank in the first snapshot, from 1",
    "ErasureReport.snapshot_id": "the newest snapshot afterwards",
    "ErasureReport.sources": "the sources that were live until now",
    "ErasureReport.target": "what was erased: an id or a hash",
    "ExpiryReport.due": "sources whose retention is over",
    "HistoryEntry.number": "the number of the commit here",
    "HistoryEntry.snapshot_id": "the snapshot",
    "HistoryEntry.tags": "its tags",
    "HistoryEntry.time": "when it was committed here, or made elsewhere; UTC",
    "PackReport.bytes": "its size",
    "PackReport.files": "files that it holds",
    "PackReport.path": "the packed file",
    "PackReport.snapshot_id": "the snapshot that was packed",
    "PolicyEntry.subject": "the rule, what it is about, and its value",
    "PolicyEntry.time": "when it was made; UTC",
    "ProofCheck.holds": "whether the proof holds",
    "ProofCheck.quote": "the text that was evidence",
    "ProofCheck.snapshot_id": "the snapshot that it holds for",
    "RollbackReport.snapshot_id": "the newest snapshot now",
    "RollbackReport.sources": "how many sources are live in it",
    "SourceDifference.units_added": "units that only the second has",
    "SourceDifference.units_kept": "units that both have",
    "SourceDifference.units_removed": "units that only the first has",
    "StatementEntry.kind": "`withdrawal`, `erasure` or `policy`",
    "StatementEntry.time": "when it was made; UTC",
    "StatementReport.kind": "`withdrawal`, `restoration` or `policy`",
    "StatementReport.sources": "the live sources that it concerns",
    "StatementReport.target": "what it is about: an id, a hash, or a collection's name",
    "SyncReport.conflicts": "sources that both had changed",
    "SyncReport.destination": "what was written",
    "SyncReport.source": "where everything was read from",
    "TagReport.before": "what it named before",
    "TagReport.name": "the tag",
    "TagReport.snapshot_id": "what it names now; empty when it was deleted",
    "UnitDifference.change": "`added`: only the second snapshot has it; `removed`: only the first",
    "UnitDifference.kind": "such as `paragraph`, `heading`, `row`, `symbol`",
    "UnitDifference.locator": "where it stands",
    "UnpackReport.bytes": "their bytes",
    "UnpackReport.files": "files that were written",
    "UnpackReport.path": "the folder that was made",
    "UnpackReport.snapshot_id": "its newest snapshot",
}
"""What a field means whose own description is missing; `MODEL.field` where a model means something of its own."""


Verbs = argparse._SubParsersAction
"""Where a parser keeps its verbs, or a verb its actions; argparse has no public name for it."""


def command_line() -> str:
    """Every verb with its arguments; first those that all of them take, and those of all about a WORKSPACE."""
    found = verbs(build_parser())
    rows = {name: arguments(verb) for name, verb in found.items()}
    shared = common(rows.values())
    named = common(each for each in rows.values() if any(row[0] == "`WORKSPACE`" for row in each))
    named = [row for row in named if row not in shared]
    parts = ["### every verb\n", table(("argument", "meaning"), shared)]
    parts += ["### verbs about a WORKSPACE\n", table(("argument", "meaning"), named)]
    for name, verb in found.items():
        parts += section(f"### tychora {name}", verb, [row for row in rows[name] if row not in shared + named])
        for action, parser in verbs(verb).items():
            own = [row for row in arguments(parser) if row not in shared]
            parts += section(f"#### tychora {name} WORKSPACE {action}", parser, own)
    return "\n".join(parts)


def verbs(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The verbs, or actions, that a parser divides into; none where it does not."""
    return next((dict(action.choices) for action in parser._actions if isinstance(action, Verbs)), {})


def common(several: Iterable[list[tuple[str, ...]]]) -> list[tuple[str, ...]]:
    first, *others = several
    return [row for row in first if all(row in other for other in others)]


def section(title: str, parser: argparse.ArgumentParser, rows: list[tuple[str, ...]]) -> list[str]:
    return [f"{title}\n", f"{parser.description}\n", *([table(("argument", "meaning"), rows)] if rows else [])]


def arguments(parser: argparse.ArgumentParser) -> list[tuple[str, ...]]:
    actions = [action for action in parser._actions if not isinstance(action, argparse._HelpAction | Verbs)]
    return [(spelled(action), (action.help or "").replace("%%", "%")) for action in actions]


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
    return methods(Client, ("create",), ("flags", "url", "writing"))


def upkeep() -> str:
    """The methods of `client.manage`."""
    return methods(Upkeep)


def methods(kind: type, first: Sequence[str] = (), left_out: Sequence[str] = ()) -> str:
    names = [*first, *(name for name in vars(kind) if name not in first)]
    public = [(name, getattr(kind, name)) for name in names if not name.startswith("_") and name not in left_out]
    return "\n".join(method_part(name, method) for name, method in public if callable(method))


def of_copies() -> str:
    """The functions about no single workspace."""
    return "\n".join(method_part(name, getattr(copies, name)) for name in ("sync", "unpack", "check_proof"))


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
        receipts.HistoryEntry,
        receipts.StatementEntry,
        difference.DifferenceReport,
        difference.SourceDifference,
        difference.UnitDifference,
        difference.AnswerDrift,
        difference.DriftedSegment,
        transport.SyncReport,
        transport.MergeConflict,
        transport.PackReport,
        transport.UnpackReport,
        maintenance.TagReport,
        maintenance.RollbackReport,
        maintenance.CompactReport,
        maintenance.CollectReport,
        maintenance.StatementReport,
        maintenance.ErasureReport,
        maintenance.PolicyEntry,
        maintenance.ExpiryReport,
        maintenance.UpgradeReport,
        proof.ProofCheck,
    ),
    "client": client,
    "upkeep": upkeep,
    "copies": of_copies,
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
