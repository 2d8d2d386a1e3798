"""A question as the channels see it: its content words, the identifiers it names, the phrases it quotes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tychora_format.analysis import QuestionTerm, content_terms
from tychora_format.identifiers import Identifier, named

__all__ = ["Question"]

MOST_TERMS = 256
"""Content words that are looked at; a pasted log has more, and its first ones say what it is about."""

MOST_NAMES = 64

MOST_PHRASES = 8

_QUOTES = "\"'“”„«»"


@dataclass(frozen=True)
class Question:
    """Any text is a valid question; one without a letter or digit has no terms and finds nothing."""

    text: str

    @cached_property
    def terms(self) -> list[QuestionTerm]:
        """The distinct content words."""
        return content_terms(self.text)[:MOST_TERMS]

    @cached_property
    def _named(self) -> list[Identifier]:
        return named(self.text)[:MOST_NAMES]

    @cached_property
    def identifiers(self) -> list[Identifier]:
        """The identifiers that the question names, of a recognised form or not."""
        return [each for each in self._named if each.kind != "phrase"]

    @cached_property
    def phrases(self) -> list[str]:
        """What stands in quotation marks, without them."""
        return [each.surface.strip(_QUOTES).strip() for each in self._named if each.kind == "phrase"][:MOST_PHRASES]

    def is_only(self, identifier: Identifier) -> bool:
        """Whether the whole question is this identifier."""
        return self.text.strip(_QUOTES + " \t\r\n`?!.,;:").casefold() == identifier.surface.strip(" .,;:").casefold()
