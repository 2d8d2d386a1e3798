"""Numbers as people say them."""

from __future__ import annotations

__all__ = ["count", "duration", "size"]


def size(number: float) -> str:
    """Bytes in powers of 1,000: "512 B", "1.4 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" or number >= 99.5 else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"


def duration(seconds: float) -> str:
    """ "0.4 s", "12 s", "3 min 20 s", "2 h 5 min"."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if not minutes:
        return f"{rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def count(number: int, noun: str, plural: str = "") -> str:
    """ "1 source", "2,000 sources"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
