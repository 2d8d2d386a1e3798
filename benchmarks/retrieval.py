"""Retrieval quality and cost of the lexical index and the static vectors, alone and fused.

    python benchmarks/retrieval.py [--sets DIR] [--scale 100000]

Quality: nDCG@10 and recall@100 on every set of DIR (`<set>/corpus.jsonl`, `queries.jsonl`, `qrels.tsv`) and on a code
set made of installed packages (docstring → function, the docstring removed from the indexed text). One setting for all.
Cost: size and CPU seconds of an index over `--scale` chunks of about 2 kB, and the time of a search.
"""

from __future__ import annotations

import argparse
import ast
import itertools
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles

import numpy as np
from numpy.typing import NDArray

from tychora_format.analysis import content_terms
from tychora_format.lexical import LexicalDocument, LexicalPart, View, build, open_view

SETS = Path(__file__).resolve().parents[1] / ".." / "shared" / "ir"
DEPTH = 200
SHARES = (0.6, 0.7)
"""Of the lexical score in the convex sum."""

CODE_PACKAGES = ("networkx", "sympy")

Scores = Mapping[int, float]
Channel = Callable[[str], Scores]


@dataclass(frozen=True)
class TestSet:
    name: str
    titles: Sequence[str]
    texts: Sequence[str]
    questions: Mapping[str, str]
    relevant: Mapping[str, Mapping[int, int]]


def read_set(directory: Path) -> TestSet:
    documents = [json.loads(line) for line in (directory / "corpus.jsonl").read_text("utf-8").splitlines()]
    row = {document["id"]: n for n, document in enumerate(documents)}
    relevant: dict[str, dict[int, int]] = {}
    for line in (directory / "qrels.tsv").read_text("utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        if int(grade) and document in row:
            relevant.setdefault(question, {})[row[document]] = int(grade)
    questions = [json.loads(line) for line in (directory / "queries.jsonl").read_text("utf-8").splitlines()]
    return TestSet(
        directory.name,
        [document["title"] for document in documents],
        [document["text"] for document in documents],
        {question["id"]: question["text"] for question in questions if question["id"] in relevant},
        relevant,
    )


def code_set(packages: Sequence[str], most_questions: int = 500) -> TestSet:
    """First line of a docstring → its function; the docstring is cut out of the text."""
    found = list(itertools.chain.from_iterable(map(_documented_functions, packages)))
    step = max(1, len(found) // most_questions)
    chosen = range(0, len(found), step)
    return TestSet(
        "docstring→function",
        [name for name, _, _ in found],
        [text for _, text, _ in found],
        {str(n): found[n][2] for n in chosen},
        {str(n): {n: 1} for n in chosen},
    )


def _documented_functions(package: str) -> Iterator[tuple[str, str, str]]:
    import importlib.util

    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return
    for path in sorted(Path(spec.origin).parent.rglob("*.py")):
        if "test" in path.as_posix():
            continue
        source = path.read_text("utf-8", errors="replace")
        lines = source.splitlines(keepends=True)
        for node in ast.walk(ast.parse(source)):
            if not isinstance(node, ast.FunctionDef) or not (docstring := ast.get_docstring(node)):
                continue
            question = " ".join(docstring.split("\n\n")[0].split())
            first = node.body[0]
            text = "".join(
                [*lines[node.lineno - 1 : first.lineno - 1], *lines[first.end_lineno or 0 : node.end_lineno]]
            )
            if len(question.split()) >= 4 and len(node.body) > 2:
                yield node.name, text, question


def lexical_channel(view: View) -> Channel:
    def search(question: str) -> Scores:
        wanted = [(term, 1.0) for word in content_terms(question) for term in word.terms]
        return {hit.row: hit.score for hit in view.search(wanted, DEPTH)}

    return search


def text_channel(texts: Sequence[str]) -> Channel:
    embed = _static_encoder()
    matrix = embed(texts)

    def search(question: str) -> Scores:
        cosines = matrix @ embed([question])[0]
        best = np.argsort(-cosines, kind="stable")[:DEPTH]
        return {int(row): float(cosines[row]) for row in best}

    return search


def _static_encoder() -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """wordllama-256: the mean of the rows of the table that a text's tokens name, of length one."""
    import importlib.util

    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = importlib.util.find_spec("wordllama")
    assert spec is not None and spec.origin is not None
    folder = Path(spec.origin).parent
    table = next(iter(load_file(folder / "weights" / "l2_supercat_256.safetensors").values())).astype(np.float32)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def embed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), table.shape[1]), dtype=np.float32)
        for n, encoding in enumerate(tokenizer.encode_batch(list(texts), add_special_tokens=False)):
            if encoding.ids:
                vectors[n] = table[encoding.ids].mean(axis=0)
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), np.float32)

    return embed


def reciprocal_rank(*channels: Scores) -> Scores:
    fused: dict[int, float] = {}
    for scores in channels:
        for rank, row in enumerate(ranked(scores), start=1):
            fused[row] = fused.get(row, 0.0) + 1 / (60 + rank)
    return fused


def convex(lexical: Scores, text: Scores, share: float) -> Scores:
    lexical, text = _normalised(lexical), _normalised(text)
    return {row: share * lexical.get(row, 0.0) + (1 - share) * text.get(row, 0.0) for row in {*lexical, *text}}


def _normalised(scores: Scores) -> Scores:
    if not scores:
        return {}
    low, high = min(scores.values()), max(scores.values())
    return {row: (score - low) / ((high - low) or 1.0) for row, score in scores.items()}


def ranked(scores: Scores) -> list[int]:
    return sorted(scores, key=lambda row: (-scores[row], row))


def ndcg(rows: Sequence[int], relevant: Mapping[int, int], depth: int = 10) -> float:
    def gain(grades: Sequence[int]) -> float:
        return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))

    ideal = gain(sorted(relevant.values(), reverse=True)[:depth])
    return gain([relevant.get(row, 0) for row in rows[:depth]]) / ideal


def recall(rows: Sequence[int], relevant: Mapping[int, int], depth: int = 100) -> float:
    return len(relevant.keys() & set(rows[:depth])) / len(relevant)


def one_view(directory: Path, titles: Sequence[str], texts: Sequence[str]) -> View:
    documents = (LexicalDocument(text, title, (), ()) for title, text in zip(titles, texts, strict=True))
    build(directory / "lexical", documents, tag=1)
    return open_view(directory / "views", [LexicalPart(directory / "lexical", 1, len(texts))], [None])


def measure_quality(test: TestSet, text: bool = True) -> dict[str, tuple[float, float]]:
    with tempfile.TemporaryDirectory() as directory:
        view = one_view(Path(directory), test.titles, test.texts)
        lexical = lexical_channel(view)
        dense = text_channel([f"{t}\n{b}" for t, b in zip(test.titles, test.texts, strict=True)]) if text else None
        found: dict[str, list[tuple[float, float]]] = {}
        for key, question in test.questions.items():
            scores = {"lexical": lexical(question)}
            if dense:
                scores["text"] = dense(question)
                scores["reciprocal rank"] = reciprocal_rank(scores["lexical"], scores["text"])
                for share in SHARES:
                    scores[f"convex {share:.1f}/{1 - share:.1f}"] = convex(scores["lexical"], scores["text"], share)
            for name, found_scores in scores.items():
                rows = ranked(found_scores)
                found.setdefault(name, []).append((ndcg(rows, test.relevant[key]), recall(rows, test.relevant[key])))
    return {name: (mean(n for n, _ in values), mean(r for _, r in values)) for name, values in found.items()}


def measure_cost(tests: Sequence[TestSet], chunks: int) -> dict[str, float]:
    words = itertools.cycle([word for test in tests for text in test.texts for word in text.split(" ")])
    texts = [" ".join(itertools.islice(words, 300)) for _ in range(chunks)]
    size = sum(len(text.encode()) for text in texts)
    with tempfile.TemporaryDirectory() as directory:
        started = time.process_time()
        view = one_view(Path(directory), [""] * chunks, texts)
        built = time.process_time() - started
        indexed = sum(path.stat().st_size for path in Path(directory, "lexical").iterdir())
        search = lexical_channel(view)
        times = []
        for question in itertools.islice((q for test in tests for q in test.questions.values()), 300):
            started = time.perf_counter()
            search(question)
            times.append(1000 * (time.perf_counter() - started))
    return {
        "text MB": size / 1e6,
        "index / text": indexed / size,
        "build CPU s": built,
        "text MB / CPU s": size / 1e6 / built,
        "search p50 ms": quantiles(times, n=100)[49],
        "search p95 ms": quantiles(times, n=100)[94],
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=Path, default=SETS, help="directory of test sets")
    parser.add_argument("--scale", type=int, default=0, help="chunks of the cost measurement; 0 leaves it out")
    parser.add_argument("--lexical-only", action="store_true")
    options = parser.parse_args(arguments)
    if not options.sets.is_dir():
        print(f"no test sets at {options.sets}", file=sys.stderr)
        return 3
    sets = [read_set(path.parent) for path in sorted(options.sets.glob("*/corpus.jsonl"))]
    print(f"{'set':22} {'channel':16} {'nDCG@10':>8} {'recall@100':>11}")
    for test in [*sets, code_set(CODE_PACKAGES)]:
        for channel, (gain, found) in measure_quality(test, not options.lexical_only).items():
            print(f"{test.name:22} {channel:16} {gain:8.3f} {found:11.3f}")
    if options.scale:
        for name, value in measure_cost(sets, options.scale).items():
            print(f"{name:22} {value:10.3f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
