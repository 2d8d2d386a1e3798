"""When a request to an object store is sent again: after growing, random pauses, and not for ever.

This is the only layer of ours that repeats requests: s3fs's and botocore's are switched off (`S3Store` does it), since
layers multiply each other's attempts and neither knows which request must not be repeated. Against a server that admits
40 requests a second it is as fast as botocore's standard mode; an address that nobody listens to is reported after 2
seconds instead of 10.
"""

from __future__ import annotations

import random
import time
from typing import Any

__all__ = ["THROTTLED", "pause", "repetition"]

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 5.0
"""Upper bounds, in seconds, of the first pause and of any pause; each pause doubles the bound of the one before."""

PATIENCE = 20.0
"""Seconds, counted from the first failure, for which a server that answers with errors is asked again."""

PATIENCE_WITHOUT_ANSWER = 2.0
"""The same for one that does not answer: an address that nobody listens to is reported within seconds."""

THROTTLED = frozenset(
    {
        "429",
        "BandwidthLimitExceeded",
        "RequestLimitExceeded",
        "RequestThrottled",
        "SlowDown",
        "SlowDownRead",
        "SlowDownWrite",
        "Throttling",
        "ThrottlingException",
        "TooManyRequests",
        "TooManyRequestsException",
    }
)
"""Codes with which S3 and servers like it refuse a request for its rate, without carrying it out."""

PASSING = frozenset({"InternalError", "RequestTimeout", "ServiceUnavailable"})
PASSING_STATUS = frozenset({429, 500, 502, 503, 504})

BEGUN = "tychora-first-failure"


def pause(attempts: int) -> float:
    """Seconds to wait after `attempts` failures: evenly random up to a doubling bound, so that clients that were
    refused together do not come back together."""
    return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(attempts - 1, 10)))


def repetition(
    attempts: int,
    request_dict: dict[str, Any],
    response: tuple[Any, dict[str, Any]] | None = None,
    caught_exception: Exception | None = None,
    **_: Any,
) -> float | None:
    """Seconds until the request is sent again; None to give up. A handler of botocore's event `needs-retry`.

    A put-if-absent is repeated only when it was refused for its rate: after any other failure it may have been
    carried out, and only who reads back knows.
    """
    throttled = passing = False
    if response is not None:
        code = str(response[1].get("Error", {}).get("Code"))
        status = getattr(response[0], "status_code", None)
        throttled = code in THROTTLED or status == 429
        passing = code in PASSING or status in PASSING_STATUS
    if not (throttled or passing or unanswered(caught_exception)):
        return None
    if not throttled and "If-None-Match" in request_dict["headers"]:
        return None
    seconds, now = pause(attempts), time.monotonic()
    begun = request_dict["context"].setdefault(BEGUN, now)
    patience = PATIENCE_WITHOUT_ANSWER if response is None else PATIENCE
    return seconds if now - begun + seconds <= patience else None


def unanswered(error: Exception | None) -> bool:
    """Whether the connection failed. One that could not be made in time is not tried again: the system already did."""
    from botocore.exceptions import ConnectionError, ConnectTimeoutError, HTTPClientError

    return isinstance(error, ConnectionError | HTTPClientError) and not isinstance(error, ConnectTimeoutError)
