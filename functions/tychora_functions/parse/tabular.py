"""Delimited tables: each record the raw text that stands in the file, so that no value ever changes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from tychora_functions.parse.decode import decode
from tychora_functions.parse.textmap import TextMap, Tiler, read_at
from tychora_functions.parse.units import Document

__all__ = ["fields", "parse", "read_at"]

_DELIMITERS = "\t;|,"
"""Between equally consistent ones the earlier wins: a comma also divides decimals, the others seldom stand in cells."""

_SAMPLE_RECORDS = 200
_SAMPLE_CHARACTERS = 200_000
_NUMBER = re.compile(r"[-+(]?[$€£]?\s?\d[\d.,' ]*%?\)?|\d{4}-\d{2}-\d{2}.*", re.S)
_SEPARATOR_LINE = re.compile(r"sep=(.)(?:\r\n|\r|\n)", re.I)


def parse(data: bytes, name: str) -> Document:
    """One `table_row` unit per record, its text exactly as in the file, quotes and quoted line ends included.

    Every row knows its raw `header` record, if there is one, and the `delimiter`; the header's own unit has the role
    `header`. Lines above the table (a title, `sep=;`) are notes. Raises what `decode` raises.
    """
    decoded = decode(data)
    text_map = TextMap(decoded)
    text = text_map.text
    tiler = Tiler(text_map)
    declared = _SEPARATOR_LINE.match(text)
    start = declared.end() if declared else 0
    delimiter = declared[1] if declared else _delimiter(text, name)
    ranges = list(_records(text, delimiter, start))
    widths = [_width(text[first:last], delimiter) for first, last in ranges]
    usual = Counter(width for width in widths if width > 1).most_common(1)
    width = usual[0][0] if usual else 1
    top = widths.index(width) if width in widths else 0
    header = _header(text, ranges[top : top + _SAMPLE_RECORDS], delimiter)
    tiler.add("note", 0, start)
    for first, last in ranges[:top]:
        tiler.add("note", first, last)
    known = {"delimiter": delimiter, **({"header": header} if header is not None else {})}
    for index, (first, last) in enumerate(ranges[top:]):
        role = {"role": "header"} if index == 0 and header is not None else {}
        tiler.add("table_row", first, last, attributes={**known, **role}, exact=True)
    warnings = list(decoded.warnings)
    if ragged := sum(found != width for found in widths[top:]):
        warnings.append(f"{ragged} of {len(ranges) - top} records do not have {width} fields.")
    return Document("table", tiler.units, warnings=warnings)


def fields(record: str, delimiter: str) -> list[str]:
    """The values of one raw record, quotes removed, everything else untouched: values are always text."""
    return [
        found[1].replace('""', '"') if found[1] is not None else found[2]
        for found in _patterns(delimiter)[1].finditer(record)
    ]


def _width(record: str, delimiter: str) -> int:
    return record.count(delimiter) + 1 if '"' not in record else len(fields(record, delimiter))


@lru_cache(maxsize=16)
def _patterns(delimiter: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A record with its line end, and a field with the delimiter before it.

    A quote opens a quoted field only at the field's start, and only if a closing one stands before a delimiter or
    line end; any other quote is a character like others.
    """
    mark = re.escape(delimiter)
    field = rf'(?:"((?:[^"]++|"")*+)"(?=[{mark}\r\n]|\Z)|([^{mark}\r\n]*+))'
    unnamed = field.replace("((?:", "(?:(?:").replace("([^", "(?:[^")
    record = rf"({unnamed}(?:{mark}{unnamed})*+)(?:\r\n|\r|\n|\Z)"
    return re.compile(record), re.compile(rf"(?:\A|{mark}){field}")


def _records(text: str, delimiter: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """The range of each record that is not blank, without its line end."""
    record, _ = _patterns(delimiter)
    while start < len(text) and (found := record.match(text, start)):
        if found[1].strip():
            yield found.span(1)
        start = found.end()


def _delimiter(text: str, name: str) -> str:
    """The delimiter by which most of the first records have equally many fields."""

    def consistency(delimiter: str) -> float:
        widths: Counter[int] = Counter()
        for count, (first, last) in enumerate(_records(text, delimiter)):
            if count >= _SAMPLE_RECORDS or first > _SAMPLE_CHARACTERS:
                break
            widths[_width(text[first:last], delimiter)] += 1
        divided = [(count, width) for width, count in widths.items() if width > 1]
        return max(divided)[0] / widths.total() if divided else 0.0

    expected = "\t" if name.lower().endswith((".tsv", ".tab")) else ","
    scores = {delimiter: round(consistency(delimiter), 2) for delimiter in _DELIMITERS}
    best = max(scores.values())
    return next(delimiter for delimiter in _DELIMITERS if scores[delimiter] == best) if best else expected


def _header(text: str, ranges: list[tuple[int, int]], delimiter: str) -> str | None:
    """The first record as raw text if it names columns: its cells differ from each other, and unlike the cells under
    them they are not numbers.
    """
    if len(ranges) < 2:
        return None
    rows = [fields(text[first:last], delimiter) for first, last in ranges]
    names = [cell.strip() for cell in rows[0] if cell.strip()]
    if not names or len(set(names)) < len(names):
        return None
    votes = 0
    for column, name in enumerate(rows[0]):
        cells = [row[column].strip() for row in rows[1:] if column < len(row) and row[column].strip()]
        numbers = sum(bool(_NUMBER.fullmatch(cell)) for cell in cells)
        mostly_numbers = bool(cells) and numbers > 0.7 * len(cells)
        is_number = bool(_NUMBER.fullmatch(name.strip()))
        votes += (mostly_numbers and not is_number and bool(name.strip())) - (mostly_numbers and is_number)
        votes -= name.strip() in cells and not mostly_numbers
    first, last = ranges[0]
    return text[first:last] if votes >= 0 else None
