"""Gates C3 and C5: a name has exactly one creator, and a store that cannot promise that is found out."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from support.faulty import CarelessStore, Fault, FaultyStore, every, only
from support.race import answer, race_processes, race_threads
from tychora_format.store import LocalStore, MemoryStore, Store, open_store, proves_put_if_absent
from tychora_schemas.errors import AccessDenied, ProviderUnavailable, TychoraError

RACERS, KEYS = 6, 100


def assert_one_winner_each(store: Store, won: dict[int, list[int]], keys: int = KEYS) -> None:
    winners = {key: [racer for racer, keys_won in won.items() if key in keys_won] for key in range(keys)}
    assert {key: len(racers) for key, racers in winners.items()} == dict.fromkeys(range(keys), 1)
    kept = dict(store.read_many(f"race/{key:03}" for key in range(keys)))
    assert kept == {f"race/{key:03}": answer(racers[0]) for key, racers in winners.items()}


def test_six_processes_on_a_directory_have_one_winner_per_name(local_store: LocalStore) -> None:
    assert_one_winner_each(local_store, race_processes(local_store.url, RACERS, KEYS))
    assert [entry.path for entry in local_store.list("staging/")] == []


def test_six_processes_on_s3_have_one_winner_per_name(s3_url: str) -> None:
    assert_one_winner_each(open_store(s3_url), race_processes(s3_url, RACERS, KEYS))


def test_six_threads_in_memory_have_one_winner_per_name(memory_store: MemoryStore) -> None:
    assert_one_winner_each(memory_store, race_threads(memory_store, RACERS, KEYS))


def test_a_directory_without_hard_links_still_has_one_winner_per_name(
    local_store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    assert_one_winner_each(local_store, race_threads(local_store, RACERS, 20), keys=20)


def test_a_network_drive_that_repeats_its_own_link_does_not_hide_the_winner(
    local_store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = os.link

    def link_twice(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", link_twice)
    assert local_store.create("log/1", b"mine")


def test_every_store_proves_put_if_absent_and_leaves_no_trace(any_store: Store) -> None:
    assert proves_put_if_absent(any_store)
    assert list(any_store.list()) == []


def test_a_store_that_ignores_put_if_absent_is_found_out(any_store: Store) -> None:
    assert not proves_put_if_absent(CarelessStore(any_store))
    assert list(any_store.list()) == []


def test_an_honest_store_whose_answers_are_lost_and_repeated_still_proves_itself(
    memory_store: MemoryStore,
) -> None:
    assert proves_put_if_absent(FaultyStore(memory_store, every(1, Fault.REPEATED, "create")))


def test_a_store_that_does_not_answer_is_not_judged(memory_store: MemoryStore) -> None:
    with pytest.raises(ProviderUnavailable):
        proves_put_if_absent(FaultyStore(memory_store, only(1, Fault.TIMEOUT)))


def test_a_lost_answer_leaves_the_file_and_says_that_nobody_knows(any_store: Store) -> None:
    store = FaultyStore(any_store, every(3, Fault.LOST_ANSWER))
    outcomes = []
    for number in range(6):
        try:
            outcomes.append(store.create(f"log/{number}", b"mine"))
        except ProviderUnavailable:
            outcomes.append(None)
    assert outcomes == [True, True, None, True, True, None]
    assert [data for _, data in any_store.read_many(f"log/{number}" for number in range(6))] == [b"mine"] * 6


@pytest.mark.parametrize(
    ("code", "status", "outcome"),
    [
        ("PreconditionFailed", 412, False),
        ("412", 412, False),
        ("ConditionalRequestConflict", 409, ProviderUnavailable),
        ("InternalError", 500, ProviderUnavailable),
        ("SlowDown", 503, ProviderUnavailable),
        ("RequestTimeout", 400, ProviderUnavailable),
        ("AccessDenied", 403, AccessDenied),
    ],
)
def test_what_an_s3_server_may_answer_to_a_create(
    s3_store: Store, monkeypatch: pytest.MonkeyPatch, code: str, status: int, outcome: type[TychoraError] | bool
) -> None:
    """The errors are s3fs's own translations of what servers send; no network is involved."""
    from botocore.exceptions import ClientError
    from s3fs.errors import translate_boto_error

    async def answer_with_error(*_: object, **__: object) -> None:
        answer = {"Error": {"Code": code, "Message": "test"}, "ResponseMetadata": {"HTTPStatusCode": status}}
        raise translate_boto_error(ClientError(answer, "PutObject"))

    monkeypatch.setattr(s3_store._filesystem, "_call_s3", answer_with_error)  # type: ignore[attr-defined]
    if outcome is False:
        assert s3_store.create("log/1", b"x") is False
    else:
        with pytest.raises(outcome):
            s3_store.create("log/1", b"x")
