"""S3 over real sockets: what is repeated, how often, and what a failure leaves behind."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from support.s3 import BUCKET, CALLS
from support.s3_proxy import CUT, LOST_ANSWER, RESET, Broken, Proxy, Refusal, Request, Slow, first
from tychora_format.sequence import Sequence
from tychora_format.store import Entry, Store, open_store, retries
from tychora_format.store.s3 import PART
from tychora_schemas.errors import (
    AccessDenied,
    ProviderUnavailable,
)

SLOW_DOWN = Refusal(503, "SlowDown")
FAILING = Refusal(500, "InternalError")


@pytest.mark.parametrize(
    "fault",
    [SLOW_DOWN, Refusal(429, "TooManyRequests"), FAILING, Refusal(502, "BadGateway"), RESET, LOST_ANSWER],
    ids=["SlowDown", "429", "500", "502", "reset", "lost"],
)
def test_what_fails_in_passing_is_repeated(store: Store, before: Proxy, brisk: None, fault: Refusal | Broken) -> None:
    store.write("a/b", b"old")
    for operation, call in CALLS.items():
        before.expect(first(2, fault, operation))
        answer = call(store)
        assert before.operations == [operation] * 3
        assert answer in (None, b"old", 3, [Entry("a/b", 3)])


def test_each_page_and_each_part_is_repeated_by_itself(
    store: Store, before: Proxy, tmp_path: Path, brisk: None, seed: int
) -> None:
    data = random.Random(seed).randbytes(3 * PART)
    before.expect(first(1, SLOW_DOWN, "UploadPart"))
    store.write("large", data)
    assert Counter(before.operations) == {
        "CreateMultipartUpload": 1,
        "UploadPart": 4,
        "CompleteMultipartUpload": 1,
    }
    before.expect(first(1, RESET, "GetObject"))
    store.download("large", tmp_path / "target")
    assert before.operations == ["GetObject"] * 4
    assert (tmp_path / "target").read_bytes() == data
    store.write_many((f"many/{number}", b"") for number in range(7))
    before.page = 3
    before.expect(first(1, LOST_ANSWER, "ListObjectsV2"))
    assert len(list(store.list("many/"))) == 7
    assert before.operations == ["ListObjectsV2"] * 4


@pytest.mark.parametrize("cut", [1, 2])
def test_an_answer_that_is_cut_short_is_asked_for_again(
    store: Store, before: Proxy, tmp_path: Path, brisk: None, cut: int
) -> None:
    store.write("a/b", b"0123456789" * 1000)
    for ask in (
        lambda: store.read("a/b"),
        lambda: store.read_range("a/b", 0, 10_000),
        lambda: store.download("a/b", tmp_path / "target") or (tmp_path / "target").read_bytes(),
    ):
        before.expect(first(cut, CUT))
        assert ask() == b"0123456789" * 1000
        assert before.operations == ["GetObject"] * (cut + 1)
    before.expect(lambda request: CUT)
    with pytest.raises(ProviderUnavailable):
        store.read("a/b")


@pytest.mark.parametrize(
    ("fault", "most"),
    [
        (FAILING, 1),
        (Refusal(503, "ServiceUnavailable"), 1),
        (Refusal(409, "ConditionalRequestConflict"), 1),
        (RESET, 2),
    ],
    ids=["500", "503", "409", "reset"],
)
def test_a_create_in_doubt_is_not_repeated(store: Store, before: Proxy, fault: Refusal | Broken, most: int) -> None:
    """But for the HTTP client, which repeats one request when its connection breaks."""
    before.expect(lambda request: fault)
    with pytest.raises(ProviderUnavailable):
        store.create("log/1", b"x")
    assert 1 <= len(before.requests) <= most


@pytest.mark.parametrize("lost", [1, 2])
def test_a_create_whose_answer_was_lost_is_for_the_writer_to_read_back(store: Store, before: Proxy, lost: int) -> None:
    """The winner hears "taken" or nothing, never that it won twice."""
    before.expect(first(lost, LOST_ANSWER, "PutObject"))
    try:
        assert store.create("log/1", b"mine") is False
    except ProviderUnavailable as doubt:
        assert doubt.next_step
    before.expect(lambda request: None)
    assert store.read("log/1") == b"mine"
    assert store.create("log/1", b"theirs") is False


def test_a_create_that_was_refused_for_its_rate_is_repeated(store: Store, before: Proxy, brisk: None) -> None:
    before.expect(first(2, SLOW_DOWN))
    assert store.create("log/1", b"mine") is True
    assert before.operations == ["PutObject"] * 3


@pytest.mark.parametrize(
    ("fault", "advice"),
    [(SLOW_DOWN, "fewer requests"), (Refusal(429, "429"), "fewer requests"), (FAILING, "server fails")],
    ids=["SlowDown", "429", "500"],
)
def test_a_server_that_never_recovers_is_given_up_with_the_reason(
    store: Store, before: Proxy, impatient: None, fault: Refusal, advice: str
) -> None:
    for operation, call in CALLS.items():
        before.expect(lambda request: fault)
        with pytest.raises(ProviderUnavailable) as caught:
            call(store)
        assert advice in caught.value.next_step
        assert 2 <= len(before.requests) <= 30
        assert set(before.operations) == {operation}


def test_pauses_grow_and_differ_and_end() -> None:
    for attempts in range(1, 40):
        bound = min(retries.LONGEST_PAUSE, retries.FIRST_PAUSE * 2 ** (attempts - 1))
        pauses = {retries.pause(attempts) for _ in range(50)}
        assert len(pauses) > 40
        assert 0 <= min(pauses) <= max(pauses) <= bound


def test_patience_is_counted_from_the_first_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    from botocore.exceptions import ConnectionClosedError, ConnectTimeoutError, ReadTimeoutError

    clock = [0.0]
    monkeypatch.setattr("tychora_format.store.retries.time.monotonic", lambda: clock[0])

    def lasts(**failure: Any) -> float:
        clock[0] = 100.0
        request: dict[str, Any] = {"headers": {}, "context": {}}
        attempts = 1
        while (seconds := retries.repetition(attempts, request, **failure)) is not None:
            clock[0] += seconds
            attempts += 1
        return clock[0] - 100.0

    def answer(code: str, status: int = 400) -> dict[str, Any]:
        return {"response": (type("Answer", (), {"status_code": status}), {"Error": {"Code": code}})}

    for failure in (answer("SlowDown", 503), answer("RequestLimitExceeded"), answer("RequestTimeout"), answer("", 504)):
        assert retries.PATIENCE - retries.LONGEST_PAUSE <= lasts(**failure) <= retries.PATIENCE
    for error in (ConnectionClosedError, ReadTimeoutError):
        assert 0 < lasts(caught_exception=error(endpoint_url="http://x")) <= retries.PATIENCE_WITHOUT_ANSWER
    assert lasts(caught_exception=ConnectTimeoutError(endpoint_url="http://x")) == 0
    assert lasts(caught_exception=ValueError("no trouble of the network")) == 0
    assert lasts(**answer("AccessDenied", 403)) == 0
    assert lasts(**answer("NoSuchKey", 404)) == 0


def test_a_server_that_is_too_slow_is_unavailable(s3_url: str, s3_models: Any, before: Proxy, impatient: None) -> None:
    store = open_store(s3_url, session=s3_models, endpoint_url=before.url, config_kwargs={"read_timeout": 0.2})
    before.expect(lambda request: Slow(1.0))
    with pytest.raises(ProviderUnavailable) as caught:
        store.read("a/b")
    assert "endpoint" in caught.value.next_step
    assert 2 <= len(before.requests) <= 3


def uploads(before: Proxy) -> int:
    """Uploads of parts that are begun and neither completed nor given up, as the server lists them."""
    import urllib.request

    with urllib.request.urlopen(f"{before.url}/{BUCKET}?uploads", timeout=30) as answer:
        return str(answer.read()).count("<UploadId>")


@pytest.mark.parametrize("operation", ["UploadPart", "CompleteMultipartUpload"])
@pytest.mark.parametrize("fault", [Refusal(403, "AccessDenied"), RESET], ids=["denied", "reset"])
def test_a_failed_upload_leaves_neither_parts_nor_file(
    store: Store, before: Proxy, tmp_path: Path, impatient: None, operation: str, fault: Refusal | Broken
) -> None:
    (tmp_path / "large").write_bytes(bytes(3 * PART))
    begun = uploads(before)

    def script(request: Request) -> Refusal | Broken | None:
        late = operation != "UploadPart" or request.query.get("partNumber") == ["3"]
        return fault if request.operation == operation and late else None

    before.expect(script)
    with pytest.raises((AccessDenied, ProviderUnavailable)):
        store.write("large", tmp_path / "large")
    assert before.operations.count("AbortMultipartUpload") == 1
    before.expect(lambda request: None)
    assert uploads(before) == begun
    assert store.size("large") is None
    assert list(store.list()) == []


def test_an_upload_that_was_completed_though_the_answer_was_lost_ends_well(
    store: Store, before: Proxy, brisk: None
) -> None:
    data = bytes(2 * PART + 1)
    begun = uploads(before)
    before.expect(first(1, LOST_ANSWER, "CompleteMultipartUpload"))
    store.write("large", data)
    assert store.size("large") == len(data)
    assert uploads(before) == begun


def test_a_writer_that_dies_during_an_upload_leaves_no_file(store: Store, before: Proxy) -> None:
    before.expect(lambda request: Slow(2.0) if request.query.get("partNumber") == ["3"] else None)
    code = (
        "import sys\nfrom tychora_format.store import open_store\n"
        f"open_store({store.url!r}, endpoint_url={before.url!r}).write('large', bytes({3 * PART}))"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while "UploadPart" not in before.operations:
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert "CompleteMultipartUpload" not in before.operations
    assert store.size("large") is None
    assert list(store.list()) == []


def test_writers_before_a_server_that_fails_at_random_lose_and_double_nothing(
    store: Store, before: Proxy, impatient: None, seed: int
) -> None:
    chance, lock = random.Random(seed), threading.Lock()
    faults = [SLOW_DOWN, FAILING, RESET, LOST_ANSWER, CUT]

    def script(request: Request) -> Refusal | Broken | None:
        with lock:
            return chance.choice(faults) if chance.random() < 0.25 else None

    before.expect(script)
    log = Sequence(store, "log/main")
    failures: list[Exception] = []

    def write(writer: int) -> None:
        number = 1
        try:
            for commit in range(6):
                mine = b"%d of writer %d" % (commit, writer)
                placed = False
                while not placed:
                    try:
                        placed = log.create(number, mine)
                        number += 1
                    except ProviderUnavailable:
                        continue  # nobody knows: the same number again finds out
        except Exception as failure:
            failures.append(failure)

    writers = [threading.Thread(target=write, args=(writer,)) for writer in range(4)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert failures == []
    before.expect(lambda request: None)
    entries = list(log.entries())
    assert [number for number, _ in entries] == list(range(1, 25))
    assert {data for _, data in entries} == {b"%d of writer %d" % (c, w) for c in range(6) for w in range(4)}


def test_a_file_that_is_replaced_during_its_download_is_not_mixed(
    store: Store, before: Proxy, s3_url: str, tmp_path: Path
) -> None:
    store.write("large", bytes(2 * PART))
    rival = open_store(s3_url)

    def script(request: Request) -> None:
        if request.operation == "GetObject" and not request.headers["Range"].startswith("bytes=0-"):
            rival.write("large", b"1" * (2 * PART))

    before.expect(script)
    with pytest.raises(ProviderUnavailable):
        store.download("large", tmp_path / "target")
