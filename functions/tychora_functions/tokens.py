"""Tokens: how texts are measured everywhere, with the tokenizer of the default family.

The tokenizer is the byte-pair encoding that ships in the wordllama package. It merges nothing across a line feed nor
into the blank before a word, so a text is encoded word by word, and a word that was met before costs one look-up: the
ids are those of encoding the whole text, three times faster on fresh text and fifteen times on familiar words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tychora_schemas.errors import ProviderUnavailable

__all__ = ["count_tokens", "packaged", "tokenize"]

Ids = npt.NDArray[np.int32]

_WORD = re.compile("\n|[ \u2581]+[^ \u2581\n]*|[^ \u2581\n]+")
"""What is encoded alone. U+2581 is how the vocabulary spells a blank."""

_CACHED_WORDS = 100_000
_CACHED_LENGTH = 48
_WIDTH = np.dtype(np.int32).itemsize

_known: dict[str, bytes] = {}


def tokenize(texts: Iterable[str]) -> list[Ids]:
    """The token ids of each text, without special tokens; an empty text has none."""
    return [np.frombuffer(b"".join(_encoded(text)), np.int32) for text in texts]


def count_tokens(texts: Iterable[str]) -> list[int]:
    """How many tokens each text has."""
    return [sum(map(len, _encoded(text))) // _WIDTH for text in texts]


def packaged(name: str) -> Path:
    """A file of the wordllama package, found without importing it. Raises ProviderUnavailable where it is missing."""
    spec = find_spec("wordllama")
    folders: Sequence[str] = (spec.submodule_search_locations or ()) if spec else ()
    for folder in folders:
        path = Path(folder, name)
        if path.is_file():
            return path
    raise ProviderUnavailable(
        f"the package wordllama with its file {name} is not installed",
        next_step="reinstall Tychora: its default embeddings and token counts come from that package",
    )


def _encoded(text: str) -> list[bytes]:
    known = _known.get
    return [known(word) or _remember(word) for word in _WORD.findall(" " + text if text else text)]


def _remember(word: str) -> bytes:
    plain = word.replace(" ", "\u2581").encode("utf-8", "replace").decode()
    ids = np.array([token.id for token in _model().tokenize(plain)], np.int32).tobytes()
    if len(word) <= _CACHED_LENGTH:
        if len(_known) >= _CACHED_WORDS:
            _known.clear()
        _known[word] = ids
    return ids


@cache
def _model() -> Any:
    # The bare model, without the tokenizer around it: text that looks like a special token ("<s>") is text here.
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(packaged("tokenizers/l2_supercat_tokenizer_config.json"))).model
