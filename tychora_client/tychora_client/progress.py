"""The line that tells how far a run has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from tychora_client.render.ansi import shorten, terminal_width
from tychora_client.render.sizes import duration, size

if TYPE_CHECKING:
    from tychora_functions.progress import Progress

__all__ = ["ProgressLine"]

REDRAW_SECONDS = 0.1
REPORT_SECONDS = 10.0
"""How often a run that nobody watches writes a line into its log."""
ERASE = "\r\x1b[K"


class ProgressLine:
    """Called with each `Progress`, it keeps one line on a terminal up to date; elsewhere it adds a line every 10 s.

    The time left is a guess from the stage's own rate, made once the total is known and a second has passed.
    """

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.clock = clock
        self.live = stream.isatty()
        self.stage = ""
        self.began = self.shown = clock()
        self.drawn = False

    def __call__(self, progress: Progress) -> None:
        now = self.clock()
        changed = progress.stage != self.stage
        if changed:
            self.stage, self.began = progress.stage, now
        due = now - self.shown >= (REDRAW_SECONDS if self.live else REPORT_SECONDS)
        if due or (changed and self.live):
            self.shown = now
            self._show(self.line(progress, now - self.began))

    def line(self, progress: Progress, elapsed: float) -> str:
        """The line's text: stage, count, rates, time left, and what is being worked on."""
        parts = []
        if progress.total or progress.done:
            parts.append(f"{progress.done:,} of {progress.total:,}" if progress.total else f"{progress.done:,}")
        if progress.bytes_total:
            parts.append(f"{size(progress.bytes_done)} of {size(progress.bytes_total)}")
        if elapsed >= 1.0 and progress.done:
            rate = progress.done / elapsed
            parts.append(f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s")
            if progress.bytes_done:
                parts.append(f"{size(progress.bytes_done / elapsed)}/s")
            if progress.total > progress.done:
                parts.append(f"{duration((progress.total - progress.done) / rate)} left")
        text = f"{progress.stage}: {', '.join(parts)}" if parts else progress.stage
        room = (terminal_width() if self.live else 160) - len(text) - 3
        return f"{text}  {shorten(progress.current, room)}" if progress.current and room >= 10 else text

    def _show(self, line: str) -> None:
        self.stream.write(f"{ERASE}{line}" if self.live else f"{line}\n")
        self.stream.flush()
        self.drawn = self.live

    def close(self) -> None:
        """Take the line away, so that what follows begins at a clean one."""
        if self.drawn:
            self.stream.write(ERASE)
            self.stream.flush()
            self.drawn = False
