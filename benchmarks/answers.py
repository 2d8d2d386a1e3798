"""Retrieval quality of whole queries, as a user gets them: files are added, questions asked, segments judged.

    python benchmarks/answers.py [--sets DIR] [--questions 200]

Sets of DIR (`<set>/corpus.jsonl`, `queries.jsonl`, `qrels.tsv`): each text is a small Markdown file, and the order of
the files is judged. Code of installed packages: first line of a docstring → its function, with all docstrings cut out,
and identifier → definition; the place of the first segment that holds the definition is judged. Reported: nDCG@10. One
setting for all.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import itertools
import math
import os
import random
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean

from retrieval import SETS, ndcg, read_set
from tychora_client import Client
from tychora_schemas.result import QueryResult

PROSE_PACKAGES = ("networkx",)
NAME_PACKAGES = ("huggingface_hub", "aiohttp", "jinja2", "botocore")
NAME_QUESTIONS = (
    "{}",
    "where is {} defined?",
    "What does {} do?",
    "How does `{}` handle errors and which arguments does it take?",
)
DEPTH = 10
BUDGET = 100_000
"""Tokens: more than ten segments can hold."""

Judge = Callable[[QueryResult], float]
"""nDCG@10 of a result."""


@dataclass(frozen=True)
class Asked:
    question: str
    judge: Judge


def relevant_files(grades: dict[str, int]) -> Judge:
    """The order of the files, each counted where it comes first."""
    names = list(grades)

    def judge(result: QueryResult) -> float:
        found = list(dict.fromkeys(Path(segment.source.path).stem for segment in result.segments))
        rows = [names.index(name) if name in grades else len(names) + n for n, name in enumerate(found)]
        return float(ndcg(rows, dict(enumerate(grades.values())), DEPTH))

    return judge


def definition(path: str, name: str) -> Judge:
    """How early the first segment comes that holds the definition of `name` in the file `path`."""
    defined = re.compile(rf"\b(?:def|class) {re.escape(name)}\b")

    def judge(result: QueryResult) -> float:
        for rank, segment in enumerate(result.segments, start=1):
            if segment.source.path.endswith(path) and defined.search(segment.text):
                return 1 / math.log2(rank + 1)
        return 0.0

    return judge


def texts(directory: Path, files: Path) -> list[Asked]:
    test = read_set(directory)
    for number, (title, text) in enumerate(zip(test.titles, test.texts, strict=True)):
        (files / f"{number}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
    grades = {key: {str(row): grade for row, grade in rows.items()} for key, rows in test.relevant.items()}
    return [Asked(question, relevant_files(grades[key])) for key, question in test.questions.items()]


def docstrings(files: Path) -> list[Asked]:
    asked = []
    for path, source in modules(PROSE_PACKAGES):
        lines = source.splitlines(keepends=True)
        described = [node for node in definitions(ast.parse(source)) if ast.get_docstring(node) and len(node.body) > 1]
        for node in described:
            question = " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
            if isinstance(node, ast.FunctionDef) and len(node.body) > 2 and len(question.split()) >= 4:
                asked.append(Asked(question, definition(path, node.name)))
        for node in sorted(described, key=lambda node: -node.lineno):
            first = node.body[0]
            del lines[first.lineno - 1 : first.end_lineno]
        put(files / path, "".join(lines))
    return asked


def identifiers(files: Path) -> list[Asked]:
    """Names that are defined once, asked for in turn alone and in questions."""
    places: dict[str, list[str]] = {}
    for path, source in modules(NAME_PACKAGES):
        put(files / path, source)
        for node in definitions(ast.parse(source)):
            places.setdefault(node.name, []).append(path)
    names = [name for name, paths in sorted(places.items()) if len(paths) == 1 and len(name) > 4 and name[:2] != "__"]
    forms = itertools.cycle(NAME_QUESTIONS)
    return [Asked(next(forms).format(name), definition(places[name][0], name)) for name in names]


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def definitions(module: ast.Module) -> Iterator[Definition]:
    return (node for node in ast.walk(module) if isinstance(node, Definition))


def modules(packages: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The modules of installed packages without their tests: path from the package on, source."""
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            print(f"{package} is not installed: left out", file=sys.stderr)
            continue
        root = Path(spec.origin).parent
        for file in sorted(root.rglob("*.py")):
            if "test" not in file.relative_to(root).as_posix():
                yield file.relative_to(root.parent).as_posix(), file.read_text("utf-8")


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def measure(scratch: Path, name: str, make: Callable[[Path], list[Asked]], most: int) -> None:
    files = scratch / name / "files"
    files.mkdir(parents=True)
    asked = make(files)
    random.Random(1).shuffle(asked)
    with Client.create(scratch / name / "workspace") as client:
        client.add([files])
        gains = [
            each.judge(client.search(each.question, k=DEPTH, budget_tokens=BUDGET, context=False))
            for each in asked[:most]
        ]
    print(f"{name:24} {len(gains):9} {mean(gains) if gains else 0:8.3f}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=Path, default=SETS, help="directory of test sets")
    parser.add_argument("--questions", type=int, default=200, help="of each set, at most")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        os.environ |= {"TYCHORA_CACHE": f"{scratch}/cache", "TYCHORA_STATE": f"{scratch}/state"}
        print(f"{'set':24} {'questions':>9} {'nDCG@10':>8}")
        for path in sorted(options.sets.glob("*/corpus.jsonl")):
            measure(scratch, path.parent.name, partial(texts, path.parent), options.questions)
        measure(scratch, "docstring-function", docstrings, options.questions)
        measure(scratch, "identifier-definition", identifiers, options.questions)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
