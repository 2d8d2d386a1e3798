"""Identifiers: what a text names exactly, and what a question asks for by name.

`C++` is not C, CVE-2024-3094 is not CVE-2024-3095, §12(3)(b) is not §12(3)(c): an identifier matches in one normal form
(case and the look of hyphens aside) or not at all. A text that holds a part also holds its whole: §12(3)(b) is found
for §12(3) and §12, never the other way round.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tychora_format.analysis import UNSEGMENTED, unify

__all__ = ["IDENTIFIER_VERSION", "Identifier", "identifiers", "named", "symbol_forms"]

IDENTIFIER_VERSION = "identifiers-1"
"""Enters the indexing fingerprint: whatever changes a normal form must change it."""

MOST_IDENTIFIERS = 1_000
"""Distinct forms kept of one text, the first ones."""

LONGEST_IDENTIFIER = 200


@dataclass(frozen=True, slots=True)
class Identifier:
    """What a question names. `recognised`: its form leaves no doubt that an exact match is meant. A phrase in quotation
    marks has the kind `phrase`, and as `form` the words in small letters with single blanks."""

    surface: str
    form: str
    kind: str
    recognised: bool


@dataclass(frozen=True, slots=True)
class _Found:
    surface: str
    kind: str
    forms: tuple[str, ...]
    """Its own normal form, then those of what it is a part of."""
    recognised: bool


_FILE_TYPES = (
    "py|pyi|ipynb|js|mjs|cjs|ts|tsx|jsx|java|kt|go|rs|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|ps1|bat|sql|r|jl"
    "|lua|pl|md|rst|txt|tex|pdf|doc|docx|odt|rtf|xls|xlsx|ods|csv|tsv|ppt|pptx|odp|html|htm|xml|xsd|json|jsonl"
    "|yaml|yml|toml|ini|cfg|conf|lock|log|eml|msg|zip|tar|gz|bz2|xz|7z|parquet|arrow|png|jpg|jpeg|gif|svg|tif"
    "|tiff|webp|exe|dll|so"
)

_SERIES = "form|rfc|pep|iso|iec|din|ieee|ansi|directive|regulation|public\\slaw|executive\\sorder"
_NUMBERED = (
    "part|article|art\\.|artikel|rule|schedule|annex|anhang|appendix|exhibit|chapter|kapitel|clause|table|tabelle"
    "|figure|fig\\.|abbildung|abb\\.|note|bemerkung|theorem|lemma|equation"
)
_SAME_WORD = {"art.": "article", "artikel": "article", "fig.": "figure", "abb.": "abbildung", "anhang": "annex"}
_LAWS = frozenset({"article", "rule"})
_NUMBER = r"[0-9]+[a-z]?(?:[.\-][0-9]+[a-z]?)*"
_PARAGRAPHS = r"(?:\([0-9a-z]{1,5}\))"
_PLACE = rf"{_NUMBER}(?:\s?{_PARAGRAPHS}){{,8}}"
_NAME = r"[^\W\d]\w*"

_KINDS = {
    "advisory": r"(?i:CVE-\d{4}-\d{4,}|GHSA(?:-[0-9a-z]{4}){3}|CWE-\d+)",
    "regulation": rf"(?i:\d+\s(?:CFR|U\.?S\.?C\.?)\s(?P<part>part\s)?(?:§{{1,2}}\s?)?(?P<law>{_PLACE}))",
    "section": rf"(?i:(?:§{{1,2}}\s?|(?:section|sec\.)\s)(?P<place>{_PLACE}))",
    "paragraph": rf"(?i:{_NUMBER}{_PARAGRAPHS}{{1,8}}|{_PARAGRAPHS}{{2,8}})",
    "series": rf"(?i:(?P<body>{_SERIES})\s(?:no\.?\s)?(?P<serial>\d\w*(?:[.\-/]\w+)*))",
    "numbered": (
        rf"(?i:(?P<kept>{_NUMBERED})\s(?P<position>(?:{_NUMBER}|(?-i:[IVXLC]+)){_PARAGRAPHS}{{,8}}))(?![\-./]\w)"
    ),
    "language": r"[Cc]\+\+(?:\d\d)?|[CFJcfj]\#|(?:ASP)?\.(?:[A-Z]\w+|net)",
    "package": r"@[\w.\-]+/[\w.\-]*\w",
    "file": rf"(?i:(?:\w[\w.\-]*[/\\])*\w[\w\-]*(?:\.[\w\-]+)*\.(?:{_FILE_TYPES}))",
    "version": (
        r"(?i:v?\d+(?:\.\d+){2,}(?:[\-.+]?(?:a|b|rc|alpha|beta|dev|post|pre)\.?\d*)?|v\d+(?:\.\d+)*)"
        r"(?![\-./]\w)"
    ),
    "symbol": rf"{_NAME}\w(?:(?:\.|::|\#|->){_NAME})+(?:\(\))?|{_NAME}\(\)",
    "number": r"(?:\w+[\-./])+\w+",
    "word": r"(?=\w*?(?:_|\d[^\W\d_]|[^\W\d_]\d|[a-z][A-Z]))\w+",
}
_PLAIN_WORD = rf"(?!(?i:{_SERIES}|{_NUMBERED}|sec)[\s.t])[A-Za-z][a-z]*(?:[\s,;]|[.:]\s)"
"""Passed over at once, for speed: three words in four."""

_IDENTIFIER = re.compile(
    rf"(?<!\w)(?!{_PLAIN_WORD})(?:" + "|".join(f"(?P<{kind}>{form})" for kind, form in _KINDS.items()) + r")(?!\w)"
)
_PROVISION = re.compile("第[0-9〇零一二三四五六七八九十百千]+[条條章節节款項项編编]")
_UNSEGMENTED_RUN = re.compile(f"[{UNSEGMENTED}]+")
_WORD = re.compile(_KINDS["word"])
_CHAIN = re.compile(_PARAGRAPHS)
_JOINTS = re.compile(r"\.|::|#|->")
_CAMEL_CASE = re.compile(r"[A-Z][a-z]{2,}(?:[A-Z][a-z]|[A-Z]{2})\w*|[a-z]{2,}[A-Z]+[a-z]{2}\w*|[A-Z]{2,}[a-z]{2,}\w*")
_SURE_NUMBER = re.compile(r"[A-Z]{2,}-\d{3,}|(?=(?:\D*\d){4})\w*\d\w*(?:[\-./]\w+){2,}")
_SURE_WORD = re.compile(r"[^\W\d_]{1,6}\d{4,}[^\W\d_]?|0x[0-9A-Fa-f]+")
_DECIMAL = re.compile(r"\d{1,2}\.\d+|\d+\.\d")
_PHRASE = re.compile(r"""["“”„«»]([^"“”„«»\n]{2,200})["“”„«»]|(?<!\w)'([^'\n]{2,200})'(?!\w)""")


def identifiers(text: str) -> list[str]:
    """The distinct normal forms that a text holds, parts and the wholes they belong to, in order; at most
    `MOST_IDENTIFIERS`. Any text is fine."""
    forms: dict[str, None] = {}
    for found in _scan(unify(text)):
        if not (found.kind == "number" and _DECIMAL.fullmatch(found.surface)):
            forms.update(dict.fromkeys(form for form in found.forms if len(form) <= LONGEST_IDENTIFIER))
        if len(forms) >= MOST_IDENTIFIERS:
            break
    return list(forms)[:MOST_IDENTIFIERS]


def named(question: str) -> list[Identifier]:
    """The distinct identifiers and quoted phrases that a question names, in order of their kind and place."""
    question = unify(question)
    found: dict[str, Identifier] = {}
    for one in _scan(question):
        found.setdefault(one.forms[0], Identifier(one.surface, one.forms[0], one.kind, one.recognised))
    for quoted in _PHRASE.finditer(question):
        words = " ".join((quoted[1] or quoted[2]).casefold().split())
        if words:
            found.setdefault(words, Identifier(quoted[0], words, "phrase", False))
    return list(found.values())


def symbol_forms(qualified_name: str) -> list[str]:
    """The forms that a definition is found for, the whole first: `a.B.c` → a.b.c, b.c, c."""
    name = unify(qualified_name).casefold()
    return [name, *(name[joint.end() :] for joint in _JOINTS.finditer(name) if name[joint.end() :])]


def _scan(text: str) -> Iterator[_Found]:
    if not text.isascii():
        for provision in _PROVISION.findall(text):
            yield _Found(provision, "provision", (provision,), True)
        text = _UNSEGMENTED_RUN.sub(" ", text)
    for match in _IDENTIFIER.finditer(text):
        kind = match.lastgroup or ""
        if kind == "number" and not any(map(str.isdecimal, match[0])):
            yield from (_Found(word[0], "word", *_word(word)) for word in _WORD.finditer(match[0]))
        else:
            yield _Found(match[0].strip(), kind, *_READERS[kind](match))


_Reading = tuple[tuple[str, ...], bool]


def _exact(match: re.Match[str]) -> _Reading:
    return (match[0].casefold(),), True


def _regulation(match: re.Match[str]) -> _Reading:
    place = match["law"]
    if match["part"]:
        return (f"part{place.casefold()}",), True
    return _place_forms(place), True


def _section(match: re.Match[str]) -> _Reading:
    return _place_forms(match["place"]), True


def _paragraph(match: re.Match[str]) -> _Reading:
    return _place_forms(match[0]), True


def _place_forms(place: str) -> tuple[str, ...]:
    """12(3)(b) → 12(3)(b), 12(3), §12; a number with a point is also known without the sign: 1308.11."""
    number, *chain = _chain_forms("", place)
    if number.startswith("("):
        return tuple([*chain[::-1], number][:-1])
    sections = (f"§{number}", number) if "." in number else (f"§{number}",)
    return (*chain[::-1], *sections)


def _chain_forms(prefix: str, place: str) -> list[str]:
    """A number and its paragraphs, from the whole law down: 12, 12(3), 12(3)(b)."""
    place = "".join(place.casefold().split())
    ends = [match.end() for match in _CHAIN.finditer(place)]
    start = place.find("(")
    return [prefix + place[:end] for end in ([start] if start > 0 else [] if ends else [len(place)]) + ends]


def _series(match: re.Match[str]) -> _Reading:
    return ("".join(f"{match['body']}{match['serial']}".casefold().split()),), True


def _numbered(match: re.Match[str]) -> _Reading:
    kept = match["kept"].casefold()
    kept = _SAME_WORD.get(kept, kept)
    return tuple(_chain_forms(kept, match["position"])[::-1]), kept in _LAWS


def _file(match: re.Match[str]) -> _Reading:
    path = match[0].casefold().replace("\\", "/")
    return tuple(dict.fromkeys((path, path.rpartition("/")[2]))), True


def _version(match: re.Match[str]) -> _Reading:
    version = match[0].casefold()
    return (version.removeprefix("v") if version.count(".") > 1 else version,), True


def _symbol(match: re.Match[str]) -> _Reading:
    name = match[0].casefold()
    whole = name.removesuffix("()")
    called = (_JOINTS.split(whole)[-1],) if name != whole else ()
    return tuple(dict.fromkeys((whole, *called))), True


def _number(match: re.Match[str]) -> _Reading:
    return (match[0].casefold(),), bool(_SURE_NUMBER.fullmatch(match[0]))


def _word(match: re.Match[str]) -> _Reading:
    word = match[0]
    sure = "_" in word.strip("_") or _CAMEL_CASE.fullmatch(word) or _SURE_WORD.fullmatch(word)
    return (word.casefold(),), bool(sure)


_READERS: dict[str, Callable[[re.Match[str]], _Reading]] = {
    "advisory": _exact,
    "regulation": _regulation,
    "section": _section,
    "paragraph": _paragraph,
    "series": _series,
    "numbered": _numbered,
    "language": _exact,
    "package": _exact,
    "file": _file,
    "version": _version,
    "symbol": _symbol,
    "number": _number,
    "word": _word,
}
