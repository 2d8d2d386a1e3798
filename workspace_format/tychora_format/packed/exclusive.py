"""One writer at a time: a lock file that a process holds. It ends with the process, however that ends."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tychora_format.store.failures import typed_failures
from tychora_format.store.local import discard
from tychora_schemas.errors import Busy

__all__ = ["changes_of", "exclusive", "unfinished", "writing"]


def unfinished(target: Path) -> Path:
    """The file beside a packed file that is to replace it, while it is being written."""
    return target.with_name(f".{target.name}.part")


def changes_of(target: Path) -> Path:
    """The folder beside a packed file that holds what is to be changed in it, until it is written again."""
    return target.with_name(f".{target.name}.changes")


@contextmanager
def writing(target: Path) -> Iterator[None]:
    """Be the only writer of the packed file `target` within the block; what a killed writer left is removed.

    The lock file is `NAME.tychora.lock` beside it. Raises Busy at once when somebody else writes it.
    """
    with exclusive(target.with_name(f"{target.name}.lock"), str(target)):
        discard(unfinished(target))
        shutil.rmtree(changes_of(target), ignore_errors=True)
        yield


@contextmanager
def exclusive(lock: Path, what: str) -> Iterator[None]:
    """Hold `lock` within the block. Raises Busy at once when somebody else, also another thread, holds it.

    `what` names in the error what is being held. The lock file is removed at the end; a process that is killed leaves
    it behind, unlocked.
    """
    with typed_failures(f"lock {what}"):
        lock.parent.mkdir(parents=True, exist_ok=True)
        handle = _take(lock, what)
    try:
        yield
    finally:
        # Removed while it is still held, so that nobody locks a file whose name is gone; see `_take`.
        with suppress(OSError):
            lock.unlink()
        os.close(handle)


def _take(lock: Path, what: str) -> int:
    while True:
        try:
            handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)
        except FileNotFoundError:
            lock.parent.mkdir(parents=True, exist_ok=True)
            continue
        try:
            _lock(handle)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(handle), lock.stat()):
                    return handle
        except BlockingIOError as error:
            os.close(handle)
            raise Busy(
                f"{what} is being written by somebody else", next_step="try again when the other writer is done"
            ) from error
        except BaseException:
            os.close(handle)
            raise
        # The one who held it removed the file between our opening and locking it.
        os.close(handle)


if sys.platform == "win32":

    def _lock(handle: int) -> None:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(str(error)) from error

else:

    def _lock(handle: int) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
