"""The JSON Schemas of every contract, as files: `python -m tychora_schemas.export DIRECTORY` writes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from tychora_schemas.difference import DifferenceReport
from tychora_schemas.locator import Locator
from tychora_schemas.maintenance import (
    CollectReport,
    CompactReport,
    ErasureReport,
    ExpiryReport,
    PolicyEntry,
    RollbackReport,
    StatementReport,
    TagReport,
    UpgradeReport,
)
from tychora_schemas.outline import OutlineReport
from tychora_schemas.proof import CitationProof, ProofCheck
from tychora_schemas.receipts import (
    AddReport,
    CitationCheck,
    ConfigurationEntry,
    Evidence,
    HistoryEntry,
    InventoryReport,
    JobEntry,
    SourceEntry,
    StatementEntry,
    VerifyReport,
    WorkspaceOverview,
)
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import Citation, QueryResult, Segment
from tychora_schemas.transport import PackReport, SyncReport, UnpackReport

__all__ = ["EXPORTED", "export", "schemas"]

EXPORTED: tuple[type[BaseModel], ...] = (
    AddReport,
    Citation,
    CitationCheck,
    CitationProof,
    CollectReport,
    CompactReport,
    ConfigurationEntry,
    DifferenceReport,
    ErasureReport,
    ExpiryReport,
    HistoryEntry,
    InventoryReport,
    JobEntry,
    Locator,
    OutlineReport,
    PackReport,
    PolicyEntry,
    ProofCheck,
    QueryRequest,
    QueryResult,
    RollbackReport,
    Segment,
    SourceEntry,
    StatementEntry,
    StatementReport,
    SyncReport,
    TagReport,
    UnpackReport,
    UpgradeReport,
    VerifyReport,
    WorkspaceOverview,
)


def schemas() -> dict[str, dict[str, Any]]:
    """Name → JSON Schema (draft 2020-12) of what is sent or returned. Fields that do not apply may be absent."""
    made = {model.__name__: model.model_json_schema() for model in EXPORTED}
    made["Evidence"] = TypeAdapter(Evidence).json_schema()
    return {name: {"$schema": GenerateJsonSchema.schema_dialect, "title": name, **made[name]} for name in sorted(made)}


def export(directory: Path) -> list[Path]:
    """Write `NAME.json` for each schema, the same bytes each time, and remove files of schemas that are gone."""
    directory.mkdir(parents=True, exist_ok=True)
    written = []
    for name, schema in schemas().items():
        path = directory / f"{name}.json"
        path.write_text(json.dumps(schema, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8", newline="\n")
        written.append(path)
    for path in set(directory.glob("*.json")) - set(written):
        path.unlink()
    return written


if __name__ == "__main__":
    export(Path(sys.argv[1]))
