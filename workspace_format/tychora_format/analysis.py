"""What a text is found by: one function turns documents and questions alike into index terms.

A plain word gives its stem without accents (größe → gross). A word with capitals, digits or punctuation
inside gives itself whole and its parts: `parseHTTPResponse` → parsehttprespon, par, http, respon. Hyphens are
joined (`IL-6` → il6), so that a word divided at a line end is found in both readings. Digits with commas give
the number and the cells that they can be. Scripts without blanks give characters, pairs, and short runs whole.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from tychora_format.stopwords import STOP_WORDS, UNSEGMENTED_STOP_WORDS

__all__ = ["ANALYSIS_VERSION", "UNSEGMENTED", "QuestionTerm", "content_terms", "terms", "unify"]

ANALYSIS_VERSION = "analysis-2"
"""Enters the indexing fingerprint: whatever changes the answer of `terms` must change it."""

LONGEST_TERM = 100
"""Characters. A longer term keeps its beginning and gets a hash for its end, so that it still finds itself."""

CACHED_WORDS = 200_000

_MARKS = "".join(
    chr(point)
    for first, last in ((0x300, 0x3100), (0xA600, 0xAC00), (0xFE20, 0xFE30))
    for point in range(first, last)
    if unicodedata.category(chr(point)) in ("Mn", "Mc")
)
_HAN = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_KATAKANA = "\u30a1-\u30fa\u30fc-\u30ff"
_HANGUL = "\uac00-\ud7a3"
UNSEGMENTED = f"{_HAN}{_KATAKANA}{_HANGUL}\u3041-\u3096\u309d-\u309f\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"

_LETTERS = rf"[\w{_MARKS}]+"
_WORD = re.compile(rf"\.?{_LETTERS}(?:(?:::|(?<=\d),(?=\d)|[.\-:'&@+]){_LETTERS})*(?:\+\+|#)?")
_PIECE = re.compile(_LETTERS)
_RUN = re.compile(rf"[{UNSEGMENTED}{_MARKS}]+|[^{UNSEGMENTED}]+")
_SHORT_RUN = re.compile(rf"[{_HAN}]+|[{_KATAKANA}]+|[{_HANGUL}]+")

_LINE_END_HYPHEN = re.compile(
    rf"(?<=[\w{_MARKS}])(?:[\ufffe\x02][ \t]*(?:\r?\n[ \t]*)?|-[ \t]*\r?\n[ \t]*)(?=[\w{_MARKS}])"
)
_LOOKS_ALIKE = re.compile(
    "(?P<dash>[\u2010-\u2013\u2212])|(?P<apostrophe>[\u2018\u2019\u02bc])"
    "|\u00ad(?:[ \\t]*\\r?\\n[ \\t]*)?|[\u200b-\u200f\u2060\ufeff\u0640]"
)
_PLAIN = {"dash": "-", "apostrophe": "'", None: ""}
_UNDECOMPOSED = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "æ": "ae", "œ": "oe", "ı": "i", "ё": "е"})

_ACCENTS = re.compile("(?<![\u0400-\u052f])[\u0300-\u036f]+|[\u0591-\u05c7\u064b-\u0652\u0670]+")
_THOUSANDS = re.compile(r"(\d{1,3}(?:,\d{3})+)(?:\.(\d+))?|(\d{1,3}(?:\.\d{3})+),(\d+)")
_GROUPED = re.compile(rf"{_THOUSANDS.pattern}|[\d.]+,[\d.]+")
"""A number with commas. A question asks for it as a whole; in a text it can also be cells of a row: 299,299."""
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_STEMMERS: tuple[tuple[int, tuple[str, ...]], ...] = (
    (0x24F, ("English", "German")),
    (0x36F, ()),
    (0x3FF, ("Greek",)),
    (0x52F, ("Russian",)),
    (0x5FF, ()),
    (0x6FF, ("Arabic",)),
)
"""Last code point of a script → its Snowball stemmers: Tantivy's, 37 times faster than Python ones, same stems.

German endings are cut after English ones: no language is guessed, so a question and a document cannot disagree
about it, and English retrieval loses nothing (nDCG@10: SciFact .702 → .701, Cranfield .404 → .407)."""

_CASES = re.compile("UU+s(?![lsU])|U+(?![ls])|U?[ls]+|d+")
_NOT_ASKED = re.compile("|".join(UNSEGMENTED_STOP_WORDS))
_ONLY_NOT_ASKED = re.compile(f"(?:{_NOT_ASKED.pattern})+")
_UNSEGMENTED_CHARACTER = re.compile(f"[{UNSEGMENTED}]")
_SCRIPT = re.compile(f"{_SHORT_RUN.pattern}|[^{_HAN}{_KATAKANA}{_HANGUL}]+")


@dataclass(frozen=True, slots=True)
class QuestionTerm:
    """A content word of a question as typed, and the index terms it asks for: whole first, then its parts."""

    surface: str
    terms: tuple[str, ...]


def terms(text: str) -> list[str]:
    """The index terms of a text in order, repeated as often as they occur. Any text is fine.

    A term holds no blanks and at most `LONGEST_TERM` characters. Canonically equal texts have equal terms."""
    found: list[str] = []
    known = _known.get
    for word in _WORD.findall(unify(text)):
        found += known(word) or _remember(word)
    return found


def content_terms(question: str) -> list[QuestionTerm]:
    """The distinct content words of a question in order; its stop words only where there is nothing else."""
    words = list(_question_words(question))
    content = [word for word, carries in words if carries] or [word for word, _ in words]
    distinct: dict[tuple[str, ...], QuestionTerm] = {}
    for word in content:
        wanted = tuple(dict.fromkeys(terms(word)))[: 1 if _GROUPED.fullmatch(word) else None]
        if wanted:
            distinct.setdefault(wanted, QuestionTerm(word, wanted))
    return list(distinct.values())


def unify(text: str) -> str:
    """One spelling for what looks alike: compatibility forms composed, hyphens and apostrophes plain, line-end
    hyphens closed up, soft hyphens and invisible characters gone. Case stays."""
    if not text.isascii():
        composed = unicodedata.normalize("NFKC", text)
        # What an invisible character kept apart is composed now.
        text = unicodedata.normalize("NFKC", _LOOKS_ALIKE.sub(lambda found: _PLAIN[found.lastgroup], composed))
    if "-" in text or "\ufffe" in text or "\x02" in text:
        text = _LINE_END_HYPHEN.sub("-", text)
    return text


_known: dict[str, tuple[str, ...]] = {}


def _remember(word: str) -> tuple[str, ...]:
    analysed = tuple(_clip(term) for term in _word_terms(word) if term)
    if len(word) <= LONGEST_TERM:
        if len(_known) >= CACHED_WORDS:
            _known.clear()
        _known[word] = analysed
    return analysed


def _word_terms(word: str) -> Iterator[str]:
    for run in _RUN.findall(word):
        if _UNSEGMENTED_CHARACTER.match(run):
            yield from _unsegmented_terms(run)
        else:
            yield from _segmented_terms(run)


def _unsegmented_terms(run: str) -> Iterator[str]:
    """Characters and pairs; a short run of one script also whole, in brackets: 東京都 is not like 京都."""
    yield from run
    yield from (run[start : start + 2] for start in range(len(run) - 1))
    yield from (f"[{short}]" for short in _SHORT_RUN.findall(run) if 2 <= len(short) <= 6)


def _segmented_terms(word: str) -> Iterator[str]:
    if "," in word:
        yield from _number_terms(word)
        return
    if _ACRONYM.fullmatch(word):
        word = word.replace(".", "")
    word = word.removesuffix("'s")
    parts = _PIECE.findall(word)
    if len(word) <= LONGEST_TERM:
        parts = [part for piece in parts for part in _parts(piece) if len(part) > 1]
    if "'" not in word or not parts:
        yield _stem(_fold(word.replace("-", "")))
    if parts != [word]:
        yield from (_stem(_fold(part)) for part in parts)


def _number_terms(word: str) -> Iterator[str]:
    """Digits with commas between them: one number, without its marks of thousands, or the cells of a row, or either."""
    if number := _THOUSANDS.fullmatch(word):
        whole, fraction = re.sub("[.,]", "", number[1] or number[3]), number[2] or number[4]
        yield _fold(f"{whole}.{fraction}" if fraction else whole)
    elif word.count(",") == 1:
        yield _fold(word)
    for cell in word.split(","):
        yield from _segmented_terms(cell)


def _parts(piece: str) -> list[str]:
    """A piece cut where case, kind of character or underscores say so: HTTPServer2_x → HTTP, Server, 2, x."""
    if piece.islower() and piece.isalpha():
        return [piece]
    shape = "".join(map(_shape, piece))
    return [piece[part.start() : part.end()] for part in _CASES.finditer(shape)]


def _shape(character: str) -> str:
    if character == "_":
        return "_"
    if character.isdecimal():
        return "d"
    if character.isupper():
        return "U"
    return "s" if character == "s" else "l"


def _fold(word: str) -> str:
    """Case, accents (not Cyrillic ones: й is a letter) and the digits of other scripts removed."""
    word = word.casefold()
    if word.isascii():
        return word
    bare = _ACCENTS.sub("", unicodedata.normalize("NFD", word))
    word = unicodedata.normalize("NFC", bare).translate(_UNDECOMPOSED)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in word)


def _stem(word: str) -> str:
    if not word.isalpha():
        return word
    for stemmer in _stemmers(word[0]):
        stems = stemmer.analyze(word)
        word = stems[0] if stems and stems[0] else word
    return word


def _stemmers(letter: str) -> tuple[Any, ...]:
    point = ord(letter)
    return next((_built(*languages) for last, languages in _STEMMERS if point <= last), ())


@cache
def _built(*languages: str) -> tuple[Any, ...]:
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    whole = Tokenizer.whitespace()
    return tuple(TextAnalyzerBuilder(whole).filter(Filter.stemmer(name)).build() for name in languages)


def _clip(term: str) -> str:
    if len(term) <= LONGEST_TERM:
        return term
    return term[: LONGEST_TERM - 20] + hashlib.sha256(term.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _question_words(question: str) -> Iterator[tuple[str, bool]]:
    """The words of a question, each with whether it carries content."""
    for word in _WORD.findall(unify(question)):
        for run in _RUN.findall(word):
            if not _UNSEGMENTED_CHARACTER.match(run):
                yield run, run.casefold() not in STOP_WORDS
                continue
            content = [part for script in _SCRIPT.findall(run) for part in _asked(script)]
            yield from ((part, True) for part in content)
            if not content:
                yield run, False


def _asked(run: str) -> list[str]:
    """A run of one script without question words; Hiragana is content unless all of it is particles."""
    if _SHORT_RUN.match(run):
        return [part for part in _NOT_ASKED.split(run) if part]
    return [] if _ONLY_NOT_ASKED.fullmatch(run) else [run]
