"""From the operating system's errors to ours: each leaves a store as a typed error with a next step."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from tychora_schemas.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidRequest,
    NotFound,
    ProviderUnavailable,
    TychoraError,
)

__all__ = ["typed_failure", "typed_failures"]

ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.EISDIR}
DENIED = {errno.EACCES, errno.EPERM}
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
UNUSABLE_NAME = {errno.ENAMETOOLONG, errno.EILSEQ, errno.EINVAL, errno.EEXIST, errno.ELOOP}

IN_TEXT = re.compile(r"\(os error (\d+)\)")
"""How libraries written in Rust (Lance, Tantivy) tell the system's error number: in the text of any error."""


def system_error(error: Exception) -> OSError | None:
    """The error of the system that `error` is or tells of; None when it is about something else."""
    if isinstance(error, OSError) and error.errno is not None:
        return error
    if told := IN_TEXT.search(str(error)):
        return OSError(int(told[1]), os.strerror(int(told[1])))
    return error if isinstance(error, OSError) else None


def typed_failure(error: OSError, doing: str) -> TychoraError:
    """The typed error that says what `doing` (as in "read tychora.json in /data") ended with."""
    message = f"could not {doing}: {error.strerror or error}"
    if error.errno in ABSENT or isinstance(error, FileNotFoundError):
        return NotFound(message, next_step="check the path of the workspace, or create it with `tychora init`")
    if error.errno == errno.EROFS:
        return AccessDenied(message, next_step="the disk is mounted read-only: copy the workspace to a writable one")
    if error.errno in DENIED or isinstance(error, PermissionError):
        return AccessDenied(message, next_step="give this user the right to it, or run as the user that owns it")
    if error.errno in FULL:
        return BudgetExceeded(message, next_step="free space or raise the quota, then run the same command again")
    if error.errno in UNUSABLE_NAME:
        return InvalidRequest(message, next_step="use a name and a place that this file system accepts")
    return ProviderUnavailable(message, next_step="check the disk or network drive, then run the same command again")


@contextmanager
def typed_failures(doing: str) -> Iterator[None]:
    """Within it, an error of the system becomes the typed error that `typed_failure` gives: `NotFound`,
    `AccessDenied`, `BudgetExceeded`, `InvalidRequest` or, when the place itself failed, `ProviderUnavailable`.
    """
    try:
        yield
    except (OSError, ValueError, RuntimeError) as error:
        found = system_error(error)
        if found is None:
            raise
        raise typed_failure(found, doing) from error
