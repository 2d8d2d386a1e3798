"""S3 over real sockets: how many requests each call costs, what a name may hold, and what a refusal becomes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from support.s3 import BUCKET, CALLS
from support.s3_proxy import Proxy, Refusal, first
from tychora_format.store import Entry, Store, open_store, refusals
from tychora_schemas.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidRequest,
    NotFound,
    ProviderUnavailable,
    TychoraError,
)


def test_a_call_costs_one_request(store: Store, before: Proxy, tmp_path: Path) -> None:
    store.write("a/b", b"0123456789")
    for operation, call in CALLS.items():
        before.expect(lambda request: None)
        call(store)
        assert before.operations == [operation]
    store.write("a/b", b"0123456789")
    for ask, operation in (
        (lambda: store.create("new", b"x"), "PutObject"),
        (lambda: store.create("new", b"x"), "PutObject"),
        (lambda: store.read_range("a/b", 2, 4), "GetObject"),
        (lambda: store.read_range("a/b", 20, 40), "GetObject"),
        (lambda: store.download("a/b", tmp_path / "target"), "GetObject"),
        (lambda: list(store.list("nothing/here/")), "ListObjectsV2"),
        (lambda: list(store.list("")), "ListObjectsV2"),
        (lambda: store.delete("absent"), "DeleteObject"),
    ):
        before.expect(lambda request: None)
        ask()
        assert before.operations == [operation]


def test_looking_at_an_absent_file_costs_one_request_once_the_bucket_is_known(store: Store, before: Proxy) -> None:
    assert store.size("absent") is None
    before.expect(lambda request: None)
    assert store.size("absent too") is None
    assert before.operations == ["HeadObject"]


def test_a_listing_costs_one_request_per_page_and_is_read_as_it_is_used(store: Store, before: Proxy) -> None:
    paths = [f"many/{number:02}" for number in range(7)]
    store.write_many((path, b"x") for path in paths)
    before.page = 3
    before.expect(lambda request: None)
    assert [entry.path for entry in store.list("many/")] == paths
    assert before.operations == ["ListObjectsV2"] * 3
    before.expect(lambda request: None)
    assert next(iter(store.list("many/"))) == Entry("many/00", 1)
    assert before.operations == ["ListObjectsV2"]


@pytest.mark.nightly
def test_a_listing_goes_past_the_thousand_files_of_a_page(s3_store: Store) -> None:
    paths = [f"many/{number:04}" for number in range(1003)]
    s3_store.write_many((path, b"") for path in paths)
    assert [entry.path for entry in s3_store.list("many/")] == paths


HOURS_AWAY = format_datetime(datetime.now(UTC) + timedelta(hours=7), usegmt=True)

REFUSALS: list[tuple[Refusal, type[TychoraError], str, str]] = [
    (Refusal(404, "NoSuchBucket"), NotFound, "create the bucket", "told by a test"),
    (Refusal(403, "AccessDenied"), AccessDenied, "rights", "told by a test"),
    (Refusal(403, "InvalidAccessKeyId"), AccessDenied, "AWS_ACCESS_KEY_ID", "told by a test"),
    (Refusal(403, "SignatureDoesNotMatch"), AccessDenied, "AWS_SECRET_ACCESS_KEY", "told by a test"),
    (Refusal(400, "ExpiredToken"), AccessDenied, "AWS_SESSION_TOKEN", "told by a test"),
    (Refusal(400, "InvalidToken"), AccessDenied, "AWS_SESSION_TOKEN", "told by a test"),
    (Refusal(403, "RequestTimeTooSkewed"), AccessDenied, "clock", "told by a test"),
    (
        Refusal(403, "RequestTimeTooSkewed", headers={"Date": HOURS_AWAY}),
        AccessDenied,
        "clock",
        "the server's clock says",
    ),
    (
        Refusal(403, "SignatureDoesNotMatch", headers={"Date": HOURS_AWAY}),
        AccessDenied,
        "clock",
        "the server's clock says",
    ),
    (
        Refusal(301, "PermanentRedirect", {"Endpoint": "elsewhere"}, {"x-amz-bucket-region": "eu-north-1"}),
        InvalidRequest,
        "AWS_DEFAULT_REGION=eu-north-1",
        "eu-north-1",
    ),
    (
        Refusal(400, "AuthorizationHeaderMalformed", {"Region": "eu-west-3"}),
        InvalidRequest,
        "AWS_DEFAULT_REGION=eu-west-3",
        "eu-west-3",
    ),
    (Refusal(400, "IllegalLocationConstraintException"), InvalidRequest, "AWS_DEFAULT_REGION", "told by a test"),
    (Refusal(400, "KeyTooLongError"), InvalidRequest, "shorter", "told by a test"),
    (Refusal(501, "NotImplemented"), InvalidRequest, "conditional writes", "told by a test"),
    (Refusal(507, "XMinioStorageFull"), BudgetExceeded, "free space", "told by a test"),
    (Refusal(418, "Teapot"), ProviderUnavailable, "endpoint", "told by a test"),
]


@pytest.mark.parametrize(
    ("refusal", "expected", "advice", "reason"), REFUSALS, ids=[f"{r[0].code}-{len(r[0].headers)}" for r in REFUSALS]
)
def test_a_refusal_is_a_typed_error_whose_next_step_fits(
    store: Store, before: Proxy, refusal: Refusal, expected: type[TychoraError], advice: str, reason: str
) -> None:
    before.expect(lambda request: refusal)
    for call in (
        lambda: store.read("a/b"),
        lambda: list(store.list()),
        lambda: store.write("a/b", b"x"),
        lambda: store.create("log/1", b"x"),
    ):
        with pytest.raises(expected) as caught:
            call()
        assert type(caught.value) is expected
        assert advice in caught.value.next_step
        assert reason in caught.value.message
        assert store.url in caught.value.message


@pytest.mark.parametrize(
    ("refusal", "expected", "advice"),
    [
        (Refusal(403, ""), AccessDenied, "rights"),
        (Refusal(403, "", headers={"Date": HOURS_AWAY}), AccessDenied, "clock"),
        (Refusal(400, "", headers={"x-amz-bucket-region": "eu-north-1"}), InvalidRequest, "eu-north-1"),
        (Refusal(301, "", headers={"x-amz-bucket-region": "eu-north-1"}), InvalidRequest, "eu-north-1"),
    ],
    ids=["403", "clock", "400", "301"],
)
def test_an_answer_without_a_body_is_understood_by_its_headers(
    store: Store, before: Proxy, refusal: Refusal, expected: type[TychoraError], advice: str
) -> None:
    before.expect(lambda request: refusal)
    with pytest.raises(expected) as caught:
        store.size("a/b")
    assert advice in caught.value.next_step


def test_a_bucket_of_another_region_is_found_when_the_server_says_where(store: Store, before: Proxy) -> None:
    store.write("a/b", b"x")
    before.expect(first(1, Refusal(400, "AuthorizationHeaderMalformed", {"Region": "eu-west-3"})))
    assert store.read("a/b") == b"x"
    assert "/eu-west-3/s3/" in before.requests[-1].headers["Authorization"]


ODD_PREFIXES = [
    "with blank/and two  blanks",
    "plus+plus",
    "per%cent%20%2F",
    "hash#tag",
    "question?mark=1&other=2",
    "a::b",
    "Straße/日本語/é",
    "quotes'\"`$HOME",
    "key=value/date=2026-01-01",
    "star*[a]{b}!(c),;@~",
    "trailing.dot./.hidden",
]


@pytest.mark.parametrize("prefix", ODD_PREFIXES)
def test_a_prefix_may_hold_any_printable_character(s3_url: str, s3_models: Any, tmp_path: Path, prefix: str) -> None:
    name = "a/b c+d%20#?&=é"
    store = open_store(f"{s3_url}/{prefix}", session=s3_models)
    beside = open_store(f"{s3_url}/{prefix}x", session=s3_models)
    beside.write(name, b"beside")
    assert store.create(name, b"0123456789") is True
    assert store.create(name, b"theirs") is False
    assert list(open_store(store.url, session=s3_models).list()) == [Entry(name, 10)]
    assert list(store.list("a/b c+")) == [Entry(name, 10)]
    assert store.size(name) == 10
    assert store.read_range(name, 2, 4) == b"23"
    store.download(name, tmp_path / "target")
    assert (tmp_path / "target").read_bytes() == b"0123456789"
    store.delete(name)
    assert list(store.list()) == []
    assert beside.read(name) == b"beside"


@pytest.mark.parametrize(
    "place",
    [
        "s3://",
        "s3:///prefix",
        f"s3://{BUCKET}/a//b",
        f"s3://{BUCKET}/../other",
        f"s3://{BUCKET}/a/./b",
        f"s3://{BUCKET}/back\\slash",
        f"s3://{BUCKET}/line\nbreak",
        f"s3://{BUCKET}/a?versionId=1",
        "s3://bucket--use1-az4--x-s3/prefix",
    ],
)
def test_a_place_that_s3_cannot_hold_is_refused(s3_url: str, s3_models: Any, place: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        open_store(place, session=s3_models)
    assert caught.value.next_step


def test_a_name_that_is_too_long_is_refused_before_any_request(store: Store, before: Proxy) -> None:
    for call in (store.read, store.size, store.delete):
        with pytest.raises(InvalidRequest, match="1024"):
            call("ü" * 600)
    assert before.requests == []


def test_an_endpoint_that_is_no_address_is_an_invalid_request(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "storage.example.org")
    with pytest.raises(InvalidRequest) as caught:
        open_store(s3_url).read("a")
    assert "AWS_ENDPOINT_URL" in caught.value.next_step


def test_a_profile_that_is_not_there_is_access_denied(s3_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    with pytest.raises(AccessDenied) as caught:
        open_store(s3_url).read("a")
    assert "AWS_PROFILE" in caught.value.next_step


def test_a_bucket_of_an_impossible_name_is_not_found(s3_url: str, s3_models: Any) -> None:
    with pytest.raises(NotFound) as caught:
        open_store("s3://No Bucket!/prefix", session=s3_models).read("a")
    assert "correct its name" in caught.value.next_step


def test_the_complaints_that_are_understood_are_those_of_the_library() -> None:
    import botocore.exceptions

    assert [name for name in refusals.COMPLAINTS if not hasattr(botocore.exceptions, name)] == []
