"""Corpora for the benchmarks, made from words: no two files are alike, and every run makes the same ones."""

from __future__ import annotations

import random
from pathlib import Path

__all__ = ["VOCABULARY", "make_files", "paragraph"]

SYLLABLES = (
    "ka",
    "lo",
    "mi",
    "ren",
    "tas",
    "vel",
    "dor",
    "in",
    "eth",
    "sul",
    "pra",
    "wen",
    "go",
    "hal",
    "ber",
    "nim",
    "cos",
    "tir",
    "ul",
    "fa",
)
RANDOM = random.Random(7)
VOCABULARY = sorted({"".join(RANDOM.choices(SYLLABLES, k=RANDOM.randint(1, 4))) for _ in range(30_000)})


def paragraph(chance: random.Random, words: int) -> str:
    """About `words` words, frequent ones more often, as in prose."""
    picked = [VOCABULARY[min(int(chance.paretovariate(0.55)), len(VOCABULARY) - 1)] for _ in range(words)]
    return " ".join(picked).capitalize() + "."


def make_files(folder: Path, count: int, size: int = 2_000, seed: int = 1) -> None:
    """`count` files of about `size` bytes: Markdown, text and Python in turn."""
    for number in range(count):
        chance = random.Random(f"{seed}-{number}")
        place = folder / f"part{number // 200:03}"
        place.mkdir(parents=True, exist_ok=True)
        paragraphs = [paragraph(chance, 60) for _ in range(size // 420)]
        kind = ("md", "txt", "py")[number % 3]
        if kind == "md":
            body = "\n\n".join(f"## {paragraph(chance, 3)}\n\n{each}" for each in paragraphs)
            text = f"# Note {number}\n\n{body}\n"
        elif kind == "txt":
            text = "\n\n".join(paragraphs) + "\n"
        else:
            functions = [
                f"def {chance.choice(VOCABULARY)}_{index}(value: int) -> int:\n"
                f'    """{each[:300]}"""\n    return value * {index} + {number}\n'
                for index, each in enumerate(paragraphs)
            ]
            text = "\n\n".join(functions)
        (place / f"note{number}.{kind}").write_text(text, "utf-8")
