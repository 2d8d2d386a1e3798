"""Several processes, or threads, that create the same names at the same moments."""

from __future__ import annotations

import multiprocessing
import threading
from typing import Any

from tychora_format.store import Store, open_store

__all__ = ["answer", "race_processes", "race_threads"]

PATIENCE = 120.0
"""Seconds after which a racer whose rivals died gives up."""


def answer(racer: int) -> bytes:
    """What racer number `racer` writes."""
    return b"racer %d, " % racer * 100


def run(store: Store, racer: int, keys: int, start: Any) -> list[int]:
    """The keys that this racer was told to have created."""
    won = []
    for key in range(keys):
        start.wait(PATIENCE)
        if store.create(f"race/{key:03}", answer(racer)):
            won.append(key)
    return won


def run_process(url: str, racer: int, keys: int, start: Any, results: Any) -> None:
    results.put((racer, run(open_store(url), racer, keys, start)))


def race_processes(url: str, racers: int, keys: int) -> dict[int, list[int]]:
    """Racer → keys that it won, with one process per racer, all contending for each key at once."""
    context = multiprocessing.get_context("spawn")
    start, results = context.Barrier(racers), context.Queue()
    processes = [
        context.Process(target=run_process, args=(url, racer, keys, start, results)) for racer in range(racers)
    ]
    for process in processes:
        process.start()
    won = dict(results.get(timeout=PATIENCE) for _ in processes)
    for process in processes:
        process.join()
    results.close()
    results.join_thread()
    return won


def race_threads(store: Store, racers: int, keys: int) -> dict[int, list[int]]:
    """Racer → keys that it won, with one thread per racer."""
    start, won = threading.Barrier(racers), {}

    def run_thread(racer: int) -> None:
        won[racer] = run(store, racer, keys, start)

    threads = [threading.Thread(target=run_thread, args=(racer,)) for racer in range(racers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return won
