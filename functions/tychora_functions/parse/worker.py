"""A worker process: reads tasks from its standard input, parses, answers.

It is started as `python -P -m tychora_functions.parse.worker`.

A message is four bytes of length and that many bytes of pickle, made by our own parent process and nobody else. The
real standard output carries the answers; whatever a library prints goes to standard error.
"""

from __future__ import annotations

import os
import pickle
import signal
import struct
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import BinaryIO

from tychora_schemas.errors import BudgetExceeded, MalformedContent, TychoraError
from tychora_schemas.settings import ResolvedSettings

__all__ = ["READY", "Answer", "Task", "receive", "send"]

READY = "ready"
"""The first message of a worker: its libraries are loaded, from now on time counts for its task."""


@dataclass(frozen=True, slots=True)
class Task:
    """One content to parse: where its bytes lie, or the bytes themselves."""

    key: str
    content: bytes | Path
    name: str
    format_name: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task: an encoded extraction, or the error's class name, message and next step."""

    key: str
    extraction: bytes | None
    error: tuple[str, str, str] | None = None


def send(stream: BinaryIO, message: object) -> None:
    """Write one message and flush."""
    data = pickle.dumps(message, protocol=5)
    stream.write(struct.pack(">I", len(data)))
    stream.write(data)
    stream.flush()


def receive(stream: BinaryIO) -> object | None:
    """Read one message; None at the end of the stream."""
    prefix = stream.read(4)
    if len(prefix) < 4:
        return None
    data = stream.read(struct.unpack(">I", prefix)[0])
    # The stream comes from our own parent process, never from a bundle.
    message: object = pickle.loads(data)
    return message


def answer(task: Task, settings: ResolvedSettings) -> Answer:
    """Parse one task; every failure of the content becomes an answer."""
    from tychora_functions.parse.parse import parse

    try:
        data = task.content.read_bytes() if isinstance(task.content, Path) else task.content
        return Answer(task.key, parse(data, task.name, task.format_name, settings).encode())
    except MemoryError:
        error: TychoraError = BudgetExceeded(
            f"reading it took more than {settings.settings.parse_memory_megabytes} MB of memory",
            next_step="raise parse_memory_megabytes, or divide the file",
        )
    except TychoraError as known:
        error = known
    except RecursionError:
        error = MalformedContent("it is nested too deeply to be read", next_step="flatten or divide the file")
    except Exception as unknown:
        error = MalformedContent(
            f"its {task.format_name} parser failed: {type(unknown).__name__}: {str(unknown)[:200]}",
            next_step="check the file with another program; if it is fine, please report this",
        )
    return Answer(task.key, None, (type(error).__name__, error.message, error.next_step))


def limit_memory(megabytes: int) -> None:
    """Let allocations beyond the limit fail inside this process; the parent watches from outside as well."""
    try:
        import resource

        limit = (megabytes + 256) << 20
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return


def end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone: nobody else would end a parser that hangs.

    Linux alone offers that (prctl, option 1, PR_SET_PDEATHSIG); elsewhere a worker ends when it next reads a task.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks = sys.stdin.buffer
    settings = receive(tasks)
    if not isinstance(settings, ResolvedSettings):
        return
    limit_memory(settings.settings.parse_memory_megabytes)
    import_module("tychora_functions.parse.parse")
    send(answers, READY)
    while isinstance(task := receive(tasks), Task):
        send(answers, answer(task, settings))


if __name__ == "__main__":
    # Pickled classes must carry the importable module's name, not __main__.
    from tychora_functions.parse.worker import main as importable_main

    importable_main()
