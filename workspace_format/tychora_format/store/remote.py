"""A bundle that is not on this machine: what all such stores share, and the one behind any fsspec URL."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from tychora_format.store.port import Entry, Store, checked_path, checked_prefix
from tychora_format.store.refusals import typed_refusal
from tychora_schemas.errors import InvalidRequest, TychoraError

__all__ = ["TRANSFERS", "FsspecStore", "RemoteStore", "in_parallel"]

TRANSFERS = 16
"""Files in transfer at once: small objects are bound by round trips, not by bandwidth."""

Item = TypeVar("Item")
Result = TypeVar("Result")


class RemoteStore(Store):
    """A store that answers over a network: many files travel at once, and its refusals become typed errors."""

    def write_many(self, pairs: Iterable[tuple[str, bytes | Path]]) -> None:
        for _ in in_parallel(lambda pair: self.write(*pair), pairs):
            pass

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return in_parallel(lambda path: (path, self.read(path)), paths)

    @contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        try:
            yield
        except TychoraError:
            raise
        except Exception as error:  # each back end raises the errors of its own client library
            raise typed_refusal(error, f"{doing} in {self.url}") from error


class FsspecStore(RemoteStore):
    """Any fsspec file system but S3, which has `S3Store`.

    Listings and instances are never cached: a rival's commit would stay invisible. Whether `create` is honoured
    is for `proves_put_if_absent` to say.
    """

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url.rstrip("/")
        self._filesystem, root = filesystem_of(
            self.url, {"use_listings_cache": False, "skip_instance_cache": True, **options}
        )
        self._root = root.rstrip("/")

    def read(self, path: str) -> bytes:
        with self._failures(f"read {path}"):
            data: bytes = self._filesystem.cat_file(self._key(path))
            return data

    def read_range(self, path: str, start: int, end: int) -> bytes:
        key = self._key(path)
        with self._failures(f"read {path}"):
            if start < end:
                data: bytes = self._filesystem.cat_file(key, start=start, end=end)
                return data
            if not self._filesystem.isfile(key):
                raise FileNotFoundError(path)
            return b""

    def create(self, path: str, data: bytes) -> bool:
        key = self._key(path)
        with self._failures(f"create {path}"):
            try:
                self._filesystem.pipe_file(key, data, mode="create")
            except FileExistsError:
                return False
        return True

    def write(self, path: str, data: bytes | Path) -> None:
        key = self._key(path)
        with self._failures(f"write {path}"):
            if isinstance(data, Path):
                self._filesystem.put_file(str(data), key)
            else:
                self._filesystem.pipe_file(key, data)

    def download(self, path: str, target: Path) -> None:
        with self._failures(f"download {path}"):
            self._filesystem.get_file(self._key(path), str(target))

    def size(self, path: str) -> int | None:
        with self._failures(f"look at {path}"):
            try:
                found = self._filesystem.info(self._key(path))
            except FileNotFoundError:
                return None
        return int(found["size"]) if found["type"] == "file" else None

    def list(self, prefix: str = "") -> Iterator[Entry]:
        stem = checked_prefix(prefix).rpartition("/")[0]
        with self._failures(f"list {prefix or 'all files'}"):
            try:
                found = self._filesystem.find(f"{self._root}/{stem}" if stem else self._root, detail=True)
            except FileNotFoundError:
                found = {}
        below = len(self._root) + 1
        entries = (
            Entry(name[below:], int(about["size"]), modified(about))
            for name, about in found.items()
            if about["type"] == "file" and not name.endswith("/")
        )
        yield from sorted((e for e in entries if e.path.startswith(prefix)), key=lambda entry: entry.path)

    def delete(self, path: str) -> None:
        with self._failures(f"delete {path}"), suppress(FileNotFoundError):
            self._filesystem.rm_file(self._key(path))

    def _key(self, path: str) -> str:
        return f"{self._root}/{checked_path(path)}"


def filesystem_of(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    """The fsspec file system of the URL and the root below which the bundle lies."""
    try:
        import fsspec

        filesystem, root = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        scheme = url.partition("://")[0].lower()
        raise InvalidRequest(f"{url} needs a package: {error}", next_step=f"pip install 'fsspec[{scheme}]'") from error
    except (ValueError, TypeError) as error:
        raise InvalidRequest(
            f"{url} is no address of a workspace: {error}",
            next_step="use a directory, s3://bucket/prefix, or an fsspec URL",
        ) from error
    return filesystem, str(root)


def modified(about: Mapping[str, Any]) -> float:
    """When the file was written, from whichever of fsspec's names for it the back end uses; 0 if from none."""
    for name in ("LastModified", "mtime", "last_modified", "updated", "created"):
        match about.get(name):
            case datetime() as time:
                return time.timestamp()
            case int() | float() as time:
                return float(time)
            case str() as time:
                with suppress(ValueError):
                    return datetime.fromisoformat(time).timestamp()
    return 0.0


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The results of `work` in the order of `items`, with a bounded number started and not yet taken."""
    with ThreadPoolExecutor(TRANSFERS, thread_name_prefix="transfer") as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) >= 2 * TRANSFERS:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for waiting in pending:
                waiting.cancel()
