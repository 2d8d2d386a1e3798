"""Embed: texts in, the vectors of one family out. What is in the ledger already is not computed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt

from tychora_format.batch import Embedding
from tychora_format.extraction import input_sha256
from tychora_functions.embed.families import Encoder, Family, family
from tychora_schemas.errors import ProviderUnavailable, TychoraError

__all__ = ["embed", "embed_question"]

Vectors = npt.NDArray[np.float32]


def embed(inputs: Sequence[str], name: str, known: Mapping[bytes, npt.NDArray[np.float16]]) -> Embedding:
    """The vectors of `inputs` in the family `name`, in order, as float16 of shape (inputs, dimension).

    `known` is a ledger, input hash → vector: what it holds is taken from it, equal inputs are encoded once. Raises
    ProviderUnavailable when the encoder fails or its answer is not one finite vector of the right dimension per text;
    then nothing is returned, not even what was right.
    """
    space = family(name)
    hashes = [input_sha256(text) for text in inputs]
    new = {key: text for key, text in zip(hashes, inputs, strict=True) if key not in known}
    encoded = np.zeros((0, space.dimension), np.float16)
    if new:
        texts = list(new.values())
        encoded = _checked(space, _encode(space, texts), len(texts)).astype(np.float16)
    fresh = dict(zip(new, encoded, strict=True))
    vectors = np.zeros((len(hashes), space.dimension), np.float16)
    for vector, key in zip(vectors, hashes, strict=True):
        stored = fresh[key] if key in fresh else known[key]
        if np.shape(stored) != (space.dimension,):
            raise ProviderUnavailable(
                f"the ledger holds a vector of shape {np.shape(stored)} for {name}, which has {space.dimension}",
                next_step="run tychora verify; the name of a family must not be used for another model",
            )
        vector[:] = stored
    return Embedding(vectors, hashes)


def embed_question(question: str, name: str) -> Vectors:
    """The question's vector in the family `name`, shape (dimension,). Raises as `embed` does."""
    space = family(name)
    try:
        answer = _encoder(space).queries([question])
    except TychoraError:
        raise
    except Exception as error:
        raise _failed(space, error) from error
    vector: Vectors = _checked(space, answer, 1)[0]
    return vector


@cache
def _encoder(space: Family) -> Encoder:
    return space.load()


def _encode(space: Family, texts: Sequence[str]) -> Vectors:
    try:
        return _encoder(space).documents(texts)
    except TychoraError:
        raise
    except Exception as error:
        raise _failed(space, error) from error


def _failed(space: Family, error: Exception) -> ProviderUnavailable:
    return ProviderUnavailable(
        f"the encoder of {space.name} failed: {type(error).__name__}: {error}",
        next_step="try again; if it stays so, leave the family out of the workspace's settings",
    )


def _checked(space: Family, answer: Vectors, count: int) -> Vectors:
    """An encoder's answer as float32, or ProviderUnavailable saying what is wrong with it."""
    problem = ""
    try:
        vectors = np.asarray(answer, np.float32)
    except (TypeError, ValueError) as error:
        raise _failed(space, error) from error
    if vectors.shape != (count, space.dimension):
        problem = f"shape {vectors.shape} instead of {(count, space.dimension)}"
    elif not np.isfinite(vectors).all():
        problem = "numbers that are not finite"
    if problem:
        raise ProviderUnavailable(
            f"the encoder of {space.name} answered with {problem}",
            next_step="nothing was stored; check the provider and the model that it serves",
        )
    return vectors
