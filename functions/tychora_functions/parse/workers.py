"""A pool of worker processes that parse: one content each at a time, within a time and a memory limit.

Workers are plain subprocesses, not `multiprocessing` children: nothing of the caller's `__main__` is imported again,
nothing is forked, and `-P` keeps the current folder, which may hold a corpus with a `json.py` in it, off the path.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from tychora_functions.parse.worker import READY, Answer, Task, receive, send
from tychora_schemas.settings import ResolvedSettings

__all__ = ["WorkerPool"]

RECYCLE_AFTER = 500
"""Tasks after which a worker is replaced, so that a leaking library cannot grow for ever."""

RECYCLE_ABOVE = 0.5
"""Share of the memory limit above which a worker is replaced between two tasks: what large files left behind must not
count against the next one."""

TICK = 0.2
"""Seconds between two looks at the limits."""

START_SECONDS = 60.0
"""What a worker may take to load its libraries, before the clock of its first file begins."""


class _Worker:
    def __init__(self, number: int, settings: ResolvedSettings, answers: queue.Queue[tuple[_Worker, object | None]]):
        self.number = number
        self.task: Task | None = None
        self.deadline = 0.0
        self.seconds = 0.0
        self.ready = False
        self.done = 0
        self.ended_because: str | None = None
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "TOKENIZERS_PARALLELISM": "0",
            # Arrow's own allocator reserves 1 GiB at once, which would count against the worker's memory limit.
            "ARROW_DEFAULT_MEMORY_POOL": "system",
        }
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "tychora_functions.parse.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        threading.Thread(target=self._listen, args=(answers,), daemon=True).start()
        with suppress(OSError):
            send(self.process.stdin, settings)  # type: ignore[arg-type]

    def _listen(self, answers: queue.Queue[tuple[_Worker, object | None]]) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            try:
                message = receive(stream)  # type: ignore[arg-type]
            except Exception:
                message = None
            answers.put((self, message))
            if message is None:
                return

    def give(self, task: Task, seconds: float) -> None:
        self.task = task
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds + (0 if self.ready else START_SECONDS)
        with suppress(OSError):  # a worker that is gone is noticed by its listener
            send(self.process.stdin, task)  # type: ignore[arg-type]

    def started(self) -> None:
        """It has loaded its libraries: the clock of the task that waits for it begins now."""
        self.ready = True
        self.deadline = time.monotonic() + self.seconds

    def memory(self) -> int:
        """Resident bytes; 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE")
        except (OSError, ValueError, IndexError):
            return 0

    def end(self, because: str | None = None) -> None:
        self.ended_because = because
        self.process.kill()

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()


class WorkerPool:
    """Parses tasks in parallel. Use as a context manager: leaving it ends every worker."""

    def __init__(self, settings: ResolvedSettings, tasks_expected: int = 1 << 30) -> None:
        self.settings = settings
        self.memory_limit = settings.settings.parse_memory_megabytes << 20
        wanted = settings.settings.parse_workers or os.cpu_count() or 1
        self.size = max(1, min(wanted, -(-tasks_expected // 4)))
        self.answers: queue.Queue[tuple[_Worker, object | None]] = queue.Queue()
        self.workers: list[_Worker] = []
        self.started = 0

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.close()
        self.workers.clear()

    def _start(self) -> _Worker:
        self.started += 1
        worker = _Worker(self.started, self.settings, self.answers)
        self.workers.append(worker)
        return worker

    def _retire(self, worker: _Worker) -> None:
        if worker in self.workers:
            self.workers.remove(worker)
        worker.close()

    def run(self, tasks: Iterable[Task | None], stop: Callable[[], bool] = lambda: False) -> Iterator[Answer]:
        """One answer per task, as they come. A worker that dies or passes a limit costs only its own task.

        Where `tasks` gives None, it is asked again after the next answer; it must not while no task is out.
        Once `stop()` is true, no further answer comes, and what the workers were at is left undone.
        """
        source = iter(tasks)
        exhausted_mark = object()
        exhausted = False
        while not stop():
            while not exhausted and sum(worker.task is not None for worker in self.workers) < self.size:
                task = next(source, exhausted_mark)
                if isinstance(task, Task):
                    worker = next((each for each in self.workers if each.task is None), None) or self._start()
                    worker.give(task, self.settings.settings.parse_seconds)
                    continue
                exhausted = task is exhausted_mark
                break
            if exhausted and not any(worker.task for worker in self.workers):
                return
            yield from self._wait()

    def _wait(self) -> Iterator[Answer]:
        try:
            worker, message = self.answers.get(timeout=TICK)
        except queue.Empty:
            self._enforce()
            return
        self._enforce()
        if message == READY:
            worker.started()
            return
        task, worker.task = worker.task, None
        if isinstance(message, Answer):
            worker.done += 1
            if worker.done >= RECYCLE_AFTER or worker.memory() > self.memory_limit * RECYCLE_ABOVE:
                self._retire(worker)
            yield message
            return
        status = worker.process.wait()
        self._retire(worker)
        if task is not None:
            reason = worker.ended_because or f"its parser died ({_spoken(status)})"
            step = "raise the limit, divide the file, or check it with another program"
            yield Answer(
                task.key,
                None,
                ("BudgetExceeded" if worker.ended_because else "MalformedContent", reason, step),
            )

    def _enforce(self) -> None:
        limits = self.settings.settings
        now = time.monotonic()
        for worker in self.workers:
            if worker.task is None or worker.ended_because:
                continue
            if now > worker.deadline:
                worker.end(f"reading it took longer than {limits.parse_seconds:g} seconds")
            elif worker.memory() > self.memory_limit:
                worker.end(f"reading it took more than {limits.parse_memory_megabytes} MB of memory")


def _spoken(status: int) -> str:
    import signal

    if status < 0:
        with suppress(ValueError):
            return f"signal {signal.Signals(-status).name}"
    return f"exit status {status}"
