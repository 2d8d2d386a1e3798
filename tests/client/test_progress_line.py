"""The progress line: live on a terminal, sparse in a log, silent when the run is short."""

from __future__ import annotations

import io

import pytest

from tychora_client.progress import ERASE, ProgressLine
from tychora_functions.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run(line: ProgressLine, clock: Clock, seconds: int) -> None:
    for second in range(seconds):
        clock.now = float(second)
        line(Progress("reading", second, 100, second * 1_000_000, "docs/a.pdf"))


def test_a_terminal_shows_count_rates_time_left_and_the_file(clock: Clock) -> None:
    stream = Terminal()
    run(ProgressLine(stream, clock), clock, 11)
    assert (
        stream.getvalue()
        .split(ERASE)[-1]
        .startswith("reading: 10 of 100, 1.0/s, 1.0 MB/s, 1 min 30 s left  docs/a.pdf")
    )
    assert "\n" not in stream.getvalue()


def test_a_terminal_is_left_with_a_clean_line(clock: Clock) -> None:
    stream = Terminal()
    line = ProgressLine(stream, clock)
    run(line, clock, 3)
    line.close()
    assert stream.getvalue().endswith(ERASE)


def test_elsewhere_a_short_run_says_nothing(clock: Clock) -> None:
    stream = io.StringIO()
    line = ProgressLine(stream, clock)
    run(line, clock, 9)
    line.close()
    assert stream.getvalue() == ""


def test_elsewhere_a_long_run_adds_a_line_about_every_ten_seconds(clock: Clock) -> None:
    stream = io.StringIO()
    run(ProgressLine(stream, clock), clock, 61)
    assert len(stream.getvalue().splitlines()) == 6
    assert "\x1b" not in stream.getvalue()


def test_an_unknown_total_is_not_invented(clock: Clock) -> None:
    assert ProgressLine(io.StringIO(), clock).line(Progress("looking", 1234), 2.0) == "looking: 1,234, 617/s"


def test_a_hostile_file_name_cannot_break_the_line(clock: Clock) -> None:
    shown = ProgressLine(Terminal(), clock).line(Progress("reading", 1, 2, 3, "a\n\x1b[2Jb\udcff"), 0.0)
    assert "\n" not in shown
    assert "\x1b" not in shown
