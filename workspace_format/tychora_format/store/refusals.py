"""From what an object store and its client library refuse with to our typed errors, each with a fitting next step."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from tychora_format.store.failures import FULL, typed_failure
from tychora_format.store.retries import THROTTLED
from tychora_schemas.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidRequest,
    NotFound,
    ProviderUnavailable,
    TychoraError,
)

__all__ = ["error_code", "typed_refusal"]

MOST_SKEW = 15 * 60
"""Seconds by which S3 lets a client's clock be wrong."""

BUCKET = (NotFound, "create the bucket first, or correct its name")
RIGHTS = (AccessDenied, "check the credentials and their rights to list, read and write below this prefix")
KEY = (AccessDenied, "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE: the server refuses them")
EXPIRED = (AccessDenied, "the credentials have ended: log in again, or renew AWS_SESSION_TOKEN")
CLOCK = (AccessDenied, "set the clock of this machine, then run the same command again")
NO_CREDENTIALS = (AccessDenied, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
NAME = (InvalidRequest, "use a shorter and plainer prefix")
FULL_STORE = (BudgetExceeded, "free space in the bucket or raise its quota, then run the same command again")
CONTESTED = (ProviderUnavailable, "others write there at this moment: run the same command again")
BUSY = (ProviderUnavailable, "the server is overloaded, or asks for fewer requests: wait a minute, then run it again")
FAILING = (ProviderUnavailable, "the server fails: wait a minute, then run the same command again")
UNSUPPORTED = (
    InvalidRequest,
    "use a server that knows conditional writes (PutObject with If-None-Match), or a directory",
)
SILENT = (ProviderUnavailable, "check the network and the endpoint (AWS_ENDPOINT_URL), then run the command again")

REGION_CODES = frozenset(
    {
        "301",
        "307",
        "AuthorizationHeaderMalformed",
        "IllegalLocationConstraintException",
        "PermanentRedirect",
        "TemporaryRedirect",
    }
)

ANSWERS: dict[str, tuple[type[TychoraError], str]] = {
    "NoSuchBucket": BUCKET,
    "InvalidBucketName": BUCKET,
    "403": RIGHTS,
    "AccessDenied": RIGHTS,
    "AllAccessDisabled": RIGHTS,
    "InvalidAccessKeyId": KEY,
    "SignatureDoesNotMatch": KEY,
    "ExpiredToken": EXPIRED,
    "InvalidToken": EXPIRED,
    "TokenRefreshRequired": EXPIRED,
    "RequestExpired": CLOCK,
    "RequestTimeTooSkewed": CLOCK,
    "InvalidURI": NAME,
    "KeyTooLongError": NAME,
    "XMinioInvalidObjectName": NAME,
    "EntityTooLarge": FULL_STORE,
    "QuotaExceeded": FULL_STORE,
    "XMinioStorageFull": FULL_STORE,
    "507": FULL_STORE,
    "409": CONTESTED,
    "412": CONTESTED,
    "ConditionalRequestConflict": CONTESTED,
    "OperationAborted": CONTESTED,
    "PreconditionFailed": CONTESTED,
    "501": UNSUPPORTED,
    "NotImplemented": UNSUPPORTED,
    "500": FAILING,
    "502": FAILING,
    "503": BUSY,
    "504": FAILING,
    "InternalError": FAILING,
    "ServiceUnavailable": BUSY,
    **dict.fromkeys(THROTTLED, BUSY),
}
"""By the code in the answer; a number is the status of an answer without a body, as HEAD gets."""

COMPLAINTS: dict[str, tuple[type[TychoraError], str]] = {
    "NoCredentialsError": NO_CREDENTIALS,
    "PartialCredentialsError": NO_CREDENTIALS,
    "CredentialRetrievalError": NO_CREDENTIALS,
    "ProfileNotFound": (AccessDenied, "correct AWS_PROFILE, or add that profile to your AWS configuration"),
    "SSOTokenLoadError": EXPIRED,
    "TokenRetrievalError": EXPIRED,
    "UnauthorizedSSOTokenError": EXPIRED,
    "ParamValidationError": BUCKET,
    "InvalidRegionError": (InvalidRequest, "correct AWS_DEFAULT_REGION"),
    "SSLError": (ProviderUnavailable, "check the endpoint's certificate, or name your authority in AWS_CA_BUNDLE"),
}
"""By the name of the client library's own errors, which need no server."""


def typed_refusal(error: Exception, doing: str) -> TychoraError:
    """The typed error that says what `doing` (as in "read tychora.json in s3://…") ended with."""
    message = f"could not {doing}: {error}"
    response = answer_of(error)
    code = error_code(error)
    if code in REGION_CODES or (code == "400" and region_of(response)):
        return wrong_region(message, region_of(response))
    if code in ANSWERS:
        kind, next_step = ANSWERS[code]
        if kind is AccessDenied and (seen := clock_of(response)):
            return AccessDenied(f"{message}; {seen}", next_step=CLOCK[1])
        return kind(message, next_step=next_step)
    if type(error).__name__ in COMPLAINTS:
        kind, next_step = COMPLAINTS[type(error).__name__]
        return kind(message, next_step=next_step)
    if isinstance(error, FileNotFoundError):
        return NotFound(message, next_step="check the address of the workspace, or create it with `tychora init`")
    if isinstance(error, PermissionError):
        return AccessDenied(message, next_step=RIGHTS[1])
    if isinstance(error, OSError) and error.errno in FULL and code is None:
        return typed_failure(error, doing)
    if isinstance(error, ValueError) and "endpoint" in str(error).lower():
        return InvalidRequest(message, next_step="correct the address of the workspace or AWS_ENDPOINT_URL")
    return ProviderUnavailable(message, next_step=SILENT[1])


def wrong_region(message: str, region: str | None) -> InvalidRequest:
    if region is None:
        return InvalidRequest(message, next_step="set AWS_DEFAULT_REGION to the region of the bucket")
    return InvalidRequest(
        f"{message}; the bucket is in {region}", next_step=f"set AWS_DEFAULT_REGION={region}, then run it again"
    )


def answer_of(error: BaseException | None) -> dict[str, Any]:
    """The server's answer, which s3fs keeps in the cause of its `OSError`; empty when there was none."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return response
        error = error.__cause__ or error.__context__
    return {}


def error_code(error: BaseException | None) -> str | None:
    """The server's own code ("NoSuchBucket"), or its status as text ("412"); None when no server answered."""
    response = answer_of(error)
    return str(response.get("Error", {}).get("Code")) if response else None


def headers_of(response: dict[str, Any]) -> dict[str, str]:
    headers: dict[str, str] = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    return headers


def region_of(response: dict[str, Any]) -> str | None:
    """The bucket's region, when the answer tells it."""
    region: str | None = response.get("Error", {}).get("Region") or headers_of(response).get("x-amz-bucket-region")
    return region


def clock_of(response: dict[str, Any]) -> str | None:
    """What the server's clock says, when this machine's is too far from it; None when it is not, or not known.

    A request with a wrong time is refused as skewed, as badly signed, or (to a HEAD) without any reason.
    """
    told = headers_of(response).get("date")
    try:
        server = parsedate_to_datetime(told) if told else None
    except ValueError:
        return None
    here = datetime.now(UTC)
    if server is None or server.tzinfo is None or abs((here - server).total_seconds()) < MOST_SKEW:
        return None
    return f"the server's clock says {server:%Y-%m-%d %H:%M} UTC, this machine's {here:%Y-%m-%d %H:%M} UTC"
