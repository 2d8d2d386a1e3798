"""A bundle behind an fsspec URL, first of all in an S3 bucket."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from tychora_format.store.failures import FULL, typed_failure
from tychora_format.store.port import Entry, Store, checked_path, checked_prefix
from tychora_schemas.errors import (
    AccessDenied,
    InvalidRequest,
    NotFound,
    ProviderUnavailable,
    TychoraError,
)

__all__ = ["FsspecStore"]

TRANSFERS = 16
"""Files in transfer at once: small objects are bound by round trips, not by bandwidth."""

PART = 5 * 2**20
"""Bytes per part of a large transfer, S3's minimum: 4 parts of each of 16 files in flight hold 320 MiB."""

MOST_PARTS = 10_000
"""S3's limit of parts per object; larger files get larger parts."""

S3_OPTIONS: dict[str, Any] = {
    "default_block_size": PART,
    "max_concurrency": 4,
    # One repetition is enough below s3fs's own: a dead endpoint is reported within 2 seconds instead of 12.
    "config_kwargs": {
        "retries": {"mode": "standard", "total_max_attempts": 2},
        "max_pool_connections": 4 * TRANSFERS,
    },
}

DENIED_CODES = {
    "AccessDenied",
    "AllAccessDisabled",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "TokenRefreshRequired",
    "403",
}

Item = TypeVar("Item")
Result = TypeVar("Result")


class FsspecStore(Store):
    """Any fsspec file system; measured and tested with S3 (moto's server).

    Listings and instances are never cached: a rival's commit would stay invisible. `create` sends S3's
    `If-None-Match: *`; whether another store honours it is for `proves_put_if_absent` to say.
    """

    def __init__(self, url: str, **options: Any) -> None:
        scheme = url.partition("://")[0].lower()
        self.url = url.rstrip("/")
        self._is_s3 = scheme in ("s3", "s3a")
        defaults = S3_OPTIONS if self._is_s3 else {}
        self._filesystem, root = filesystem_of(
            self.url,
            scheme,
            {**defaults, "use_listings_cache": False, "skip_instance_cache": True, **options},
        )
        self._root = root.rstrip("/")

    def read(self, path: str) -> bytes:
        # With more than one part at a time s3fs asks for the size first: a second round trip.
        options = {"max_concurrency": 1} if self._is_s3 else {}
        with self._failures(f"read {path}"):
            data: bytes = self._filesystem.cat_file(self._key(path), **options)
            return data

    def read_range(self, path: str, start: int, end: int) -> bytes:
        key = self._key(path)
        with self._failures(f"read {path}"):
            if start < end:
                try:
                    data: bytes = self._filesystem.cat_file(key, start=start, end=end)
                    return data
                except OSError as error:
                    if error_code(error) not in ("InvalidRange", "416"):
                        raise
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
            except OSError as error:
                # Some S3 servers leave out which condition failed, and s3fs then no longer says "exists".
                if error_code(error) not in ("PreconditionFailed", "412"):
                    raise
                return False
        return True

    def write(self, path: str, data: bytes | Path) -> None:
        key = self._key(path)
        with self._failures(f"write {path}"):
            if isinstance(data, Path):
                self._filesystem.put_file(str(data), key, **self._parts(data.stat().st_size))
            else:
                self._filesystem.pipe_file(key, data, **self._parts(len(data)))

    def download(self, path: str, target: Path) -> None:
        with self._failures(f"download {path}"):
            self._filesystem.get_file(self._key(path), str(target))

    def size(self, path: str) -> int | None:
        with self._failures(f"look at {path}"):
            try:
                found = self._filesystem.info(self._key(path))
            except FileNotFoundError as error:
                if error_code(error) == "NoSuchBucket":
                    raise
                return None
        return int(found["size"]) if found["type"] == "file" else None

    def list(self, prefix: str = "") -> Iterator[Entry]:
        stem, _, start = checked_prefix(prefix).rpartition("/")
        directory = f"{self._root}/{stem}" if stem else self._root
        options = {"prefix": start} if self._is_s3 and start else {}
        with self._failures(f"list {prefix or 'all files'}"):
            try:
                found = self._filesystem.find(directory, detail=True, **options)
            except FileNotFoundError as error:
                if error_code(error) == "NoSuchBucket":
                    raise
                found = {}
        below = len(self._root) + 1
        entries = (
            Entry(name[below:], int(about["size"]))
            for name, about in found.items()
            if about["type"] == "file" and not name.endswith("/")
        )
        yield from sorted((e for e in entries if e.path.startswith(prefix)), key=lambda entry: entry.path)

    def delete(self, path: str) -> None:
        with self._failures(f"delete {path}"), suppress(FileNotFoundError):
            self._filesystem.rm_file(self._key(path))

    def write_many(self, pairs: Iterable[tuple[str, bytes | Path]]) -> None:
        for _ in in_parallel(lambda pair: self.write(*pair), pairs):
            pass

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return in_parallel(lambda path: (path, self.read(path)), paths)

    def _key(self, path: str) -> str:
        return f"{self._root}/{checked_path(path)}"

    def _parts(self, size: int) -> dict[str, int]:
        return {"chunksize": max(PART, -(-size // MOST_PARTS))} if self._is_s3 else {}

    @contextmanager
    def _failures(self, doing: str) -> Iterator[None]:
        try:
            yield
        except TychoraError:
            raise
        except Exception as error:  # each back end raises the errors of its own client library
            raise self._typed(error, f"{doing} in {self.url}") from error

    def _typed(self, error: Exception, doing: str) -> TychoraError:
        message = f"could not {doing}: {error}"
        code = error_code(error)
        if code in ("NoSuchBucket", "InvalidBucketName") or type(error).__name__ == "ParamValidationError":
            return NotFound(message, next_step="create the bucket first, or correct its name")
        if isinstance(error, FileNotFoundError):
            return NotFound(message, next_step="check the address of the workspace, or create it with `tychora init`")
        if type(error).__name__ in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"):
            return AccessDenied(message, next_step="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")
        if isinstance(error, PermissionError) or code in DENIED_CODES:
            return AccessDenied(message, next_step="check the credentials and their rights to list, read, write")
        if isinstance(error, OSError) and error.errno in FULL and code is None:
            return typed_failure(error, doing)
        return ProviderUnavailable(
            message,
            next_step="check the network and the endpoint (AWS_ENDPOINT_URL), then run the command again",
        )


def filesystem_of(url: str, scheme: str, options: dict[str, Any]) -> tuple[Any, str]:
    """The fsspec file system of the URL and the root below which the bundle lies."""
    try:
        import fsspec

        filesystem, root = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        package = "tychora[s3]" if scheme in ("s3", "s3a") else f"fsspec[{scheme}]"
        raise InvalidRequest(f"{url} needs a package: {error}", next_step=f"pip install '{package}'") from error
    except (ValueError, TypeError) as error:
        raise InvalidRequest(
            f"{url} is no address of a workspace: {error}",
            next_step="use a directory, s3://bucket/prefix, or an fsspec URL",
        ) from error
    return filesystem, str(root)


def error_code(error: BaseException | None) -> str | None:
    """The server's own code ("NoSuchBucket", "412"), which s3fs keeps in the cause of its `OSError`."""
    while error is not None:
        response = getattr(error, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code"))
        error = error.__cause__ or error.__context__
    return None


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
