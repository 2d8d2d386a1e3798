"""The exported JSON Schemas are those of the contracts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tychora_schemas.export import export, schemas
from tychora_schemas.receipts import AddReport
from tychora_schemas.requests import QueryRequest
from tychora_schemas.result import Citation, QueryResult, Segment

EXPORTED = Path(__file__).resolve().parents[2] / "schemas/json"


def test_the_exported_files_are_current(tmp_path: Path) -> None:
    """When this fails: python -m tychora_schemas.export schemas/json."""
    written = {path.name: path.read_bytes() for path in export(tmp_path)}
    assert {path.name: path.read_bytes() for path in EXPORTED.glob("*.json")} == written


def test_exporting_removes_the_files_of_schemas_that_are_gone(tmp_path: Path) -> None:
    (tmp_path / "Forgotten.json").write_text("{}")
    export(tmp_path)
    assert not (tmp_path / "Forgotten.json").exists()


@pytest.mark.parametrize("name", sorted(schemas()))
def test_each_schema_says_its_dialect_its_name_and_what_it_is(name: str) -> None:
    schema = json.loads((EXPORTED / f"{name}.json").read_text("utf-8"))
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["title"] == name
    assert schema.get("description") or schema.get("oneOf")


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (AddReport, "added changed moved removed unchanged held quarantined snapshot_id"),
        (
            QueryResult,
            "run_id snapshot_id applied_scope segments visuals relations citations coverage checks coverage_gaps "
            "decision_requirements warnings budget_contract trace",
        ),
        (Segment, "id text score channels source heading_path citations matched also_at"),
        (Citation, "id source_path revision_id content_sha256 quote quote_normalised locator"),
        (QueryRequest, "question k at filters budget_tokens trace"),
    ],
)
def test_the_fixed_names_of_the_contract_are_there(model: type[AddReport], names: str) -> None:
    assert set(names.split()) <= set(model.model_fields)
