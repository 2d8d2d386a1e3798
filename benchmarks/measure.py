"""Runs whole processes and says what they cost: CPU seconds of all their children, wall seconds, peak memory."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Cost", "folder_bytes", "median_cost", "percentile", "run", "tychora"]


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds (user and system, children included), wall seconds, peak megabytes of the largest process."""

    cpu: float
    wall: float
    peak: float
    output: str = ""


def run(command: Sequence[str | Path], environment: dict[str, str] | None = None) -> Cost:
    """Run `command` to its end and account for it. Its standard output is kept, its errors are shown."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.perf_counter()
    script = "import resource,subprocess,sys; p=subprocess.run(sys.argv[1:]); "
    script += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr); sys.exit(p.returncode)"
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, command)],
        capture_output=True,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    wall = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 9):
        raise SystemExit(f"{' '.join(map(str, command))} failed with {done.returncode}:\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime - BARE
    return Cost(cpu, wall, int(done.stderr.split()[-1]) / 1024, done.stdout)


def _bare() -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import resource,subprocess,sys"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


BARE = _bare()
"""What the accounting process itself costs."""


def tychora(*arguments: str | Path) -> list[str | Path]:
    """The command line of the installed program."""
    return [Path(sys.executable).with_name("tychora"), *arguments]


def median_cost(command: Sequence[str | Path], times: int = 5) -> Cost:
    """The median of several runs, after one that is not counted."""
    run(command)
    costs = [run(command) for _ in range(times)]
    return Cost(
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.wall for cost in costs),
        max(cost.peak for cost in costs),
        costs[-1].output,
    )


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def folder_bytes(*folders: Path) -> int:
    """The bytes of all files below the folders."""
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())
