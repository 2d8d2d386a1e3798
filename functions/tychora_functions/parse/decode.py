"""The text of a file, with the one encoding that gives its bytes back exactly."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tychora_functions.parse.detect import signature
from tychora_schemas.errors import MalformedContent, UnsupportedContent

__all__ = ["Decoded", "decode"]


@dataclass(frozen=True, slots=True)
class Decoded:
    """`text.encode(encoding)` is exactly the file's bytes after its byte order mark of `bom_length` bytes."""

    text: str
    encoding: str
    """The name of a Python codec that writes no byte order mark of its own: `utf-8`, `utf-16-le`, `cp1252`…"""
    bom_length: int = 0
    warnings: tuple[str, ...] = ()
    """Says so where the encoding was inferred, nothing having declared it."""


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ASCII = tuple(map(chr, range(128)))
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")

_DECLARATIONS = (
    re.compile(rb"""\A\s*<\?xml[^>]{0,200}?\bencoding\s*=\s*["']([\w.:-]+)"""),
    re.compile(rb"""<meta\b[^>]{0,400}?\bcharset\s*=\s*["']?\s*([\w.:-]+)""", re.I),
    re.compile(rb"\A(?:[^\r\n]*(?:\r\n|\r|\n))?[ \t\f]*#[^\r\n]*?coding[:=][ \t]*([\w.-]+)"),
)
"""XML declaration, HTML `meta`, and PEP 263's comment in the first two lines."""

_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""Declared names that in practice mean a larger set (the WHATWG Encoding Standard's labels do the same)."""

_CANDIDATES = (
    *("cp1252", "cp1250", "cp1255", "cp1251", "koi8-r", "gb18030", "big5", "cp932", "euc_jp", "cp949"),
    *("cp1253", "cp1254", "cp1256", "cp1257", "cp437", "cp850", "mac_roman"),
)
"""What is tried when nothing is declared; between equals the earlier wins."""

_COMMON_LEADS = {
    "gb18030": ("gb2312", (0xA1, 0xA3), (0xB0, 0xD7)),
    "big5": ("big5", (0xA1, 0xA3), (0xA4, 0xC6)),
    "cp932": ("euc_jp", (0xA1, 0xA5), (0xB0, 0xCF)),
    "euc_jp": ("euc_jp", (0xA1, 0xA5), (0xB0, 0xCF)),
    "cp949": ("euc_kr", (0xA1, 0xA3), (0xB0, 0xC8)),
}
"""Per East Asian encoding the lead bytes of punctuation, kana and its first plane of frequent characters."""

_CONTROLS = re.compile(r"[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f]+")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_SAMPLE = 100_000
_STRANGE, _TOO_STRANGE = 0.05, 0.3
_APOSTROPHES = "’‘ʼ´·‑–—…"
_SYMBOLS = ("So", "Sm", "Sk", "Sc", "No", "Cf")
_HEBREW_FINALS = "ךםןףץ"
_QUOTE_IN_WORD = re.compile(rf"[^\W\d_][^\w\s\x00-\x7f{_APOSTROPHES}][^\W\d_]")


def decode(data: bytes) -> Decoded:
    """The text of `data`, and the encoding that gives `data` back byte for byte: nothing is replaced or dropped.

    Tried in turn: byte order mark, UTF-16 and UTF-32 without one, UTF-8, the declared encoding, inference. Raises
    UnsupportedContent for a known binary format, MalformedContent where no encoding fits.
    """
    kind = signature(data)
    if kind is not None:
        raise UnsupportedContent(
            f"The content is not text but {kind.reason or 'a ' + kind.value.upper() + ' document'}.",
            next_step="Give the file the suffix of its format, or leave it out.",
        )
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _marked(data, mark, encoding)
    if (text := _escaped(data)) is not None:
        return Decoded(text, "iso2022_jp")
    if b"\0" in data:
        return _wide(data)
    if (text := _exact(data, "utf-8")) is not None:
        _refuse_binary(text)
        return Decoded(text, "utf-8")
    return _declared(data) or _inferred(data)


def _marked(data: bytes, mark: bytes, encoding: str) -> Decoded:
    text = _exact(data[len(mark) :], encoding)
    if text is None:
        failure = _failure(data[len(mark) :], encoding, len(mark))
        raise MalformedContent(
            f"The file begins with the byte order mark of {encoding}, but {failure}.",
            next_step="Save the file again in UTF-8.",
        )
    _refuse_binary(text)
    return Decoded(text, encoding, len(mark))


def _escaped(data: bytes) -> str | None:
    """ISO-2022-JP, whose bytes are all ASCII: only its escape sequences tell it from UTF-8."""
    if b"\x1b$B" in data or b"\x1b$@" in data or b"\x1b(J" in data:
        return _exact(data, "iso2022_jp")
    return None


def _wide(data: bytes) -> Decoded:
    """UTF-16 or UTF-32 without a mark: only assigned characters, and more ASCII than in the other byte order."""
    readings = []
    for encoding in _WIDE:
        text = _exact(data, encoding)
        if text and not _controls(text) and _assigned(text):
            readings.append((sum(map(text.count, _ASCII)), encoding, text))
    if readings and (best := max(readings))[0] and not _narrow(data):
        _, encoding, text = best
        return Decoded(text, encoding, warnings=(f"No byte order mark: read as {encoding}, which is inferred.",))
    raise MalformedContent(
        f"The content is binary: a NUL byte at {data.index(0)}, and no reading as UTF-16 or UTF-32.",
        next_step="Leave the file out, or convert it to UTF-8 text.",
    )


def _narrow(data: bytes) -> bool:
    """Whether it is ASCII text with a few stray NULs, which also reads as rare characters of UTF-16."""
    nul = data.count(0)
    return nul < 0.25 * len(data) and sum(0 < byte < 0x80 for byte in data) > 0.9 * (len(data) - nul)


def _assigned(text: str) -> bool:
    return all(unicodedata.category(character) not in ("Cn", "Co", "Cs") for character in set(text))


def _declared(data: bytes) -> Decoded | None:
    for declaration in _DECLARATIONS:
        if found := declaration.search(data[:4096]):
            try:
                name = codecs.lookup(found[1].decode("ascii")).name
            except (LookupError, ValueError):
                continue
            for encoding in (_SUPERSETS.get(name, name), name):
                text = _exact(data, encoding)
                if text is not None and not _controls(text):
                    return Decoded(text, encoding)
    return None


def _inferred(data: bytes) -> Decoded:
    """The candidate with the least strangeness, then the least mess and the most language (charset-normalizer)."""
    for (strangeness, mess, *_), encoding in sorted(_ranked(_sample(data))):
        text = _exact(data, encoding)
        doubtful = strangeness > (_TOO_STRANGE if mess < 1.0 else _STRANGE)
        if text is not None and not doubtful and not _controls(text):
            warning = f"Not UTF-8, and no other encoding declared: read as {encoding}, which is inferred."
            return Decoded(text, encoding, warnings=(warning,))
    failure = _failure(data, "utf-8", 0)
    raise MalformedContent(
        f"The content is neither text nor a known format: {failure}, and no other encoding reads well.",
        next_step="Save the file in UTF-8, or leave it out.",
    )


def _sample(data: bytes) -> bytes:
    """The lines of `data` around its first byte that is not ASCII."""
    first = _NOT_ASCII.search(data)
    start = data.rfind(b"\n", 0, max(0, first.start() - _SAMPLE // 2 if first else 0)) + 1
    if start + _SAMPLE >= len(data):
        return data[start:]
    return data[start : data.rfind(b"\n", start, start + _SAMPLE) + 1 or start + _SAMPLE]


def _ranked(sample: bytes) -> Iterator[tuple[tuple[float, float, float, int], str]]:
    from charset_normalizer import from_bytes

    for order, encoding in enumerate(_CANDIDATES):
        text = _exact(sample, encoding)
        if text is None:
            continue
        match = from_bytes(sample, cp_isolation=[encoding], enable_fallback=False).best()
        mess, language = (match.chaos, match.coherence) if match else (1.0, 0.0)
        yield (round(_strangeness(text, encoding), 2), round(mess, 1), -round(language, 1), order), encoding


def _strangeness(text: str, encoding: str) -> float:
    """The share of non-ASCII characters that nobody writing in `encoding` would put there, from 0 to 1."""
    if encoding in _COMMON_LEADS:
        codec, *common = _COMMON_LEADS[encoding]
        characters = [character for character in text if character > "\x7f"]
        leads = [character.encode(codec, "ignore")[:1] for character in characters]
        frequent = sum(bool(lead) and any(low <= lead[0] <= high for low, high in common) for lead in leads)
        return 1 - frequent / len(leads) if leads else 0.0
    strange = total = 0
    for word in re.findall(r"\S*[^\x00-\x7f]\S*", text):
        total += sum(character > "\x7f" for character in word)
        strange += sum(_strange_pair(first, second) for first, second in pairwise(word))
        strange += len(_QUOTE_IN_WORD.findall(word))
    return min(1.0, strange / (total or 1))


@lru_cache(maxsize=10_000)
def _strange_pair(first: str, second: str) -> bool:
    """Letters of two scripts side by side, a capital after a small letter, a letter that touches a symbol, a Hebrew
    final letter that is not final.
    """
    if first <= "\x7f" and second <= "\x7f":
        return False
    if first.isalpha() and second.isalpha():
        scripts = {unicodedata.name(letter, "?").split()[0] for letter in (first, second)}
        return len(scripts) > 1 or (first.islower() and second.isupper()) or first in _HEBREW_FINALS
    other = second if first.isalpha() else first
    beside_letter = first.isalpha() or second.isalpha()
    return beside_letter and other > "\x7f" and unicodedata.category(other) in _SYMBOLS


def _exact(data: bytes, encoding: str) -> str | None:
    """The text, if `encoding` reads every byte and writes the same bytes again."""
    try:
        text = data.decode(encoding)
        return text if encoding == "utf-8" or text.encode(encoding) == data else None
    except (UnicodeError, LookupError):
        return None


def _controls(text: str) -> int:
    """How many control characters there are but blanks, backspace and escape (logs of terminals hold those)."""
    return sum(len(run) for run in _CONTROLS.findall(text))


def _refuse_binary(text: str) -> None:
    nul = text.find("\0")
    if nul >= 0 or _controls(text) > max(3, 0.01 * len(text)):
        what = f"a NUL character at {nul}" if nul >= 0 else "too many control characters"
        raise MalformedContent(
            f"The content is binary, not text: {what}.",
            next_step="Leave the file out, or convert it to UTF-8 text.",
        )


def _failure(data: bytes, encoding: str, offset: int) -> str:
    try:
        data.decode(encoding)
    except UnicodeDecodeError as error:
        return f"the byte at {error.start + offset} is not {encoding}"
    return f"it does not keep {encoding}"
