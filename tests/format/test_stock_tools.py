"""A bundle is open: stock tools read what is in it, without a line of ours."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest

from tychora_format.workspace import Workspace
from tychora_functions.add import add
from tychora_schemas.settings import resolve_settings

SPEC = Path(__file__).parents[2] / "workspace_format" / "SPEC.md"


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stock") / "docs"
    folder.mkdir()
    (folder / "ferry.md").write_text("# Ferry\n\nThe ferry leaves at seven.\n")
    (folder / "code.py").write_text('def tide(day):\n    """Height of the tide."""\n    return day * 2\n')
    place = folder.parent / "workspace"
    add(Workspace.create(place), [folder], settings=resolve_settings(environment={}))
    return place


def only(bundle: Path, pattern: str) -> Path:
    (found,) = bundle.glob(pattern)
    return found


def test_duckdb_reads_the_tables_through_the_views_of_the_specification(bundle: Path) -> None:
    import duckdb

    statements = re.search(r"```sql\n(.*?)```", SPEC.read_text("utf-8"), re.DOTALL)
    assert statements
    connection = duckdb.connect()
    connection.execute(statements.group(1).replace("WORKSPACE", str(bundle)))
    assert connection.execute("select path from sources order by path").fetchall() == [("code.py",), ("ferry.md",)]
    kinds = connection.execute("select kind, count(*) from units group by kind order by kind").fetchall()
    assert kinds == [("heading", 1), ("paragraph", 1), ("symbol", 1)]
    symbols = connection.execute(f"select name from read_parquet('{bundle}/batches/*/tables/symbols.parquet')")
    assert symbols.fetchall() == [("tide",)]


def test_lancedb_opens_and_searches_the_vectors(bundle: Path) -> None:
    import lancedb

    vectors = only(bundle, "batches/*/vectors")
    # Lance's own convention for a table's folder is the suffix .lance; a link gives the family that name.
    named = bundle.parent / "lance"
    named.mkdir(exist_ok=True)
    (named / "wordllama-256.lance").symlink_to(vectors / "wordllama-256")
    table = lancedb.connect(str(named)).open_table("wordllama-256")
    assert table.count_rows() == 2
    first = table.search([0.1] * 256).limit(1).to_list()[0]
    assert first["row"] in (0, 1)


def test_tantivy_opens_a_view(bundle: Path, tmp_path: Path) -> None:
    import tantivy

    workspace = Workspace.open(bundle)
    workspace.head().everything.lexical_view()
    (view,) = (path.parent for path in workspace.cache.directory.glob("views/**/meta.json"))
    assert tantivy.Index.open(str(view)).searcher().num_docs == 2


def test_pyarrow_reads_the_text_row_by_row(bundle: Path) -> None:
    import pyarrow as pa

    with pa.memory_map(str(only(bundle, "batches/*/text/chunks.arrow"))) as file:
        texts = pa.ipc.open_file(file).read_all().column("text").to_pylist()
    assert "# Ferry\n\nThe ferry leaves at seven." in texts


def test_sha256sum_checks_every_object_and_manifest(bundle: Path) -> None:
    for path in [*bundle.glob("objects/*/*"), *bundle.glob("snapshots/*.json")]:
        printed = subprocess.run(["sha256sum", path], capture_output=True, text=True, check=True).stdout
        assert printed.split()[0] == path.stem


def test_a_stranger_computes_the_ids_of_the_specification(bundle: Path) -> None:
    """Section 10 of SPEC.md: ids follow from a hash over a tag and plain JSON, by the standard library alone."""
    shown = json.loads(re.search(r"```json\n(.*?)```", SPEC.read_text("utf-8"), re.DOTALL).group(1))  # type: ignore[union-attr]
    original = b"# Ferry\n\nThe ferry leaves at seven.\n"

    def identity(kind: str, payload: object) -> str:
        text = json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return f"{kind}_{hashlib.sha256(f'{kind}-v1'.encode() + bytes(1) + text.encode()).hexdigest()}"

    content = hashlib.sha256(original).hexdigest()
    source = identity("source", {"collection": "default", "path": "ferry.md"})
    locator = '{"bytes":[9,35],"lines":[3,3]}'
    unit = {
        "content": content,
        "ordinal": 1,
        "kind": "paragraph",
        "text": "The ferry leaves at seven.",
        "locator": locator,
    }
    assert shown == {
        "content": content,
        "source": source,
        "revision": identity("revision", {"source": source, "content": content}),
        "unit": identity("unit", unit),
    }
    import duckdb

    prefix = duckdb.connect().execute(
        f"select hex(unit_prefix) from read_parquet('{bundle}/batches/*/tables/units.parquet') where kind = 'paragraph'"
    )
    assert prefix.fetchall() == [(shown["unit"].removeprefix("unit_")[:16].upper(),)]
