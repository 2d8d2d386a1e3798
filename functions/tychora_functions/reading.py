"""Reads the text at a place of an original again, without the index: how every check of a quote begins."""

from __future__ import annotations

from tychora_schemas.errors import InvalidRequest
from tychora_schemas.locator import Locator

__all__ = ["blanks_joined", "read_place", "says"]


def read_place(data: bytes, locator: Locator, format_name: str) -> str:
    """The text at `locator` of the original `data`, which is of the format `format_name`.

    Literal bytes are sliced and decoded here; anything else is read by the format's parser. Raises InvalidRequest
    where the place does not exist.
    """
    if locator.bytes is not None:
        start, end = locator.bytes
        if not 0 <= start <= end <= len(data):
            raise InvalidRequest(f"bytes {start} to {end} lie outside of the file's {len(data)}")
        try:
            return data[start:end].decode(locator.encoding or "utf-8")
        except (UnicodeDecodeError, LookupError) as error:
            raise InvalidRequest(f"bytes {start} to {end} are no {locator.encoding or 'utf-8'}") from error
    from tychora_functions.parse.formats import FORMATS, parser_of

    if format_name not in FORMATS:
        raise InvalidRequest(f"no parser here reads {format_name}")
    try:
        return parser_of(format_name).read_at(data, locator)
    except (ValueError, LookupError, TypeError) as error:
        # A locator from outside may name any place at all; a parser promises typed errors only for its own.
        raise InvalidRequest(f"the locator leads nowhere in a {format_name} file") from error


def blanks_joined(text: str) -> str:
    """`text` with every run of blanks as one: how quotes are compared where a format decides about blanks."""
    return " ".join(text.split())


def says(quote: str, found: str, locator: Locator) -> bool:
    """True when `found` at `locator` is the quote: to the character where bytes are named, blanks aside elsewhere."""
    return quote == found if locator.bytes is not None else blanks_joined(quote) == blanks_joined(found)
