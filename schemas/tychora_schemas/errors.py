"""One tree of errors. Every error carries a stable code, an exit code, an HTTP status and what to do next.

    TychoraError                unexpected             exit 1   HTTP 500
    ├── InvalidRequest          invalid_request        exit 2   HTTP 400
    ├── NotFound                not_found              exit 3   HTTP 404
    ├── UnsupportedContent      unsupported_content    exit 4   HTTP 415
    ├── MalformedContent        malformed_content      exit 4   HTTP 422
    ├── AccessDenied            access_denied          exit 5   HTTP 403
    ├── Conflict                conflict               exit 6   HTTP 409
    ├── CorruptWorkspace        corrupt_workspace      exit 7   HTTP 500
    ├── ProviderUnavailable     provider_unavailable   exit 8   HTTP 503
    ├── Busy                    busy                   exit 10  HTTP 503
    └── BudgetExceeded          budget_exceeded        exit 11  HTTP 413

Codes are append-only: a released code never changes its meaning.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "PARTLY_DONE",
    "AccessDenied",
    "BudgetExceeded",
    "Busy",
    "Conflict",
    "CorruptWorkspace",
    "InvalidRequest",
    "MalformedContent",
    "NotFound",
    "ProviderUnavailable",
    "TychoraError",
    "UnsupportedContent",
]

PARTLY_DONE = 9
"""Exit code of a run that finished with some sources quarantined; not an error, hence no class."""


class TychoraError(Exception):
    """The root. `message` says what happened, `next_step` what the reader can do about it."""

    code: ClassVar[str] = "unexpected"
    exit_code: ClassVar[int] = 1
    http_status: ClassVar[int] = 500

    def __init__(self, message: str, *, next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step

    def __str__(self) -> str:
        return f"{self.message} ({self.next_step})" if self.next_step else self.message

    def as_dict(self) -> dict[str, str]:
        """The error as every face shows it: `{code, message, next_step}`."""
        return {"code": self.code, "message": self.message, "next_step": self.next_step}


class InvalidRequest(TychoraError):
    """The request itself is wrong: an unknown option, a bad value, a reference of no known form."""

    code, exit_code, http_status = "invalid_request", 2, 400


class NotFound(TychoraError):
    """The named thing does not exist here."""

    code, exit_code, http_status = "not_found", 3, 404


class UnsupportedContent(TychoraError):
    """The content is intact, but no parser here reads it."""

    code, exit_code, http_status = "unsupported_content", 4, 415


class MalformedContent(TychoraError):
    """The content claims a format that it does not keep."""

    code, exit_code, http_status = "malformed_content", 4, 422


class AccessDenied(TychoraError):
    """The caller, or this process, may not read or write it."""

    code, exit_code, http_status = "access_denied", 5, 403


class Conflict(TychoraError):
    """Another writer got there first and the work could not be put on top."""

    code, exit_code, http_status = "conflict", 6, 409


class CorruptWorkspace(TychoraError):
    """A file of the bundle is missing, cut or altered. The message names the file."""

    code, exit_code, http_status = "corrupt_workspace", 7, 500


class ProviderUnavailable(TychoraError):
    """A model or a store that the work needs did not answer."""

    code, exit_code, http_status = "provider_unavailable", 8, 503


class Busy(TychoraError):
    """Somebody else holds what is needed; the same call may succeed later."""

    code, exit_code, http_status = "busy", 10, 503


class BudgetExceeded(TychoraError):
    """A limit on size, time or tokens was reached."""

    code, exit_code, http_status = "budget_exceeded", 11, 413
