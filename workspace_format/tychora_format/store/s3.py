"""A bundle in an S3 bucket, below a prefix."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from tychora_format.store.port import Entry, checked_path, checked_prefix
from tychora_format.store.refusals import error_code
from tychora_format.store.remote import TRANSFERS, RemoteStore
from tychora_format.store.retries import pause, repetition
from tychora_schemas.errors import InvalidRequest

__all__ = ["S3Store"]

PART = 5 * 2**20
"""Bytes per part of a large transfer, S3's minimum for uploads."""

PARTS_AT_ONCE = 4
"""Parts of one file in transfer at once: with 16 files in flight they hold 320 MiB."""

MOST_PARTS = 10_000
"""S3's limit of parts per object; larger files get larger parts."""

LONGEST_KEY = 1024
"""S3's limit of a key, in bytes of UTF-8."""

BODIES = 3
"""How often an answer whose body is cut short is asked for."""

REFUSED = frozenset({"PreconditionFailed", "412"})
BEYOND_THE_END = frozenset({"InvalidRange", "416"})

CONFIGURATION: dict[str, Any] = {
    "retries": {"mode": "standard", "total_max_attempts": 1},
    "max_pool_connections": PARTS_AT_ONCE * TRANSFERS,
    "connect_timeout": 5,
    "read_timeout": 15,
}

Result = TypeVar("Result")


class S3Store(RemoteStore):
    """An S3 bucket of Amazon's or of a server that speaks the same protocol.

    Requests per call: `read`, `read_range`, `create`, `delete` and `write` of a small file 1; `size` 1 (and once
    per store 1 more, when it meets an absent file); `list` 1 per 1,000 files; `download` 1 per 5 MiB; `write`
    of a file from 10 MiB on 2 and 1 per part. Those that failed in passing are repeated (see `retries`), `create`
    only when it was certainly not carried out. The HTTP client below repeats a request once when its connection
    breaks, a `create` too, and cannot be told not to: one more reason why `create`'s `False` proves no defeat.

    A failed upload of parts is given up at the server as well; that of a process that died stays there, invisible,
    until the bucket's own rule for incomplete uploads removes it. Credentials, region and endpoint come from the
    usual chain of AWS or from `options` (s3fs's).
    """

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url.rstrip("/")
        self._filesystem = filesystem_of(self.url, options)
        self._bucket, self._prefix = place_of(self.url, self._filesystem)
        self._bucket_exists = False

    def read(self, path: str) -> bytes:
        key = self._key(path)
        with self._failures(f"read {path}"):
            return self._run(self._get, key)[0]

    def read_range(self, path: str, start: int, end: int) -> bytes:
        key = self._key(path)
        with self._failures(f"read {path}"):
            if start >= end:
                if self.size(path) is None:
                    raise FileNotFoundError(path)
                return b""
            try:
                return self._run(self._get, key, Range=f"bytes={start}-{end - 1}")[0]
            except OSError as error:
                if error_code(error) not in BEYOND_THE_END:
                    raise
                return b""

    def create(self, path: str, data: bytes) -> bool:
        key = self._key(path)
        with self._failures(f"create {path}"):
            try:
                self._run(self._ask, "put_object", Key=key, Body=data, IfNoneMatch="*")
            except OSError as error:
                if error_code(error) not in REFUSED:
                    raise
                return False
        return True

    def write(self, path: str, data: bytes | Path) -> None:
        key = self._key(path)
        with self._failures(f"write {path}"):
            try:
                self._run(self._put, key, data)
            except FileNotFoundError as error:
                if error_code(error) != "NoSuchUpload":
                    raise
                # The answer to the last step was lost, and its repetition finds the upload already completed; or
                # somebody gave it up. Which of the two is not told.
                self._run(self._put, key, data)

    def download(self, path: str, target: Path) -> None:
        key = self._key(path)
        with self._failures(f"download {path}"):
            self._run(self._download, key, target)

    def size(self, path: str) -> int | None:
        key = self._key(path)
        with self._failures(f"look at {path}"):
            try:
                return int(self._run(self._ask, "head_object", Key=key)["ContentLength"])
            except FileNotFoundError:
                # To HEAD a missing bucket is as absent as a missing file.
                if not self._bucket_exists:
                    self._run(self._ask, "list_objects_v2", Prefix=self._prefix, MaxKeys=1)
                    self._bucket_exists = True
                return None

    def list(self, prefix: str = "") -> Iterator[Entry]:
        page: dict[str, Any] = {"Prefix": self._prefix + checked_prefix(prefix)}
        while True:
            with self._failures(f"list {prefix or 'all files'}"):
                found = self._run(self._ask, "list_objects_v2", **page)
            # S3 lists in the order of the bytes of UTF-8, which is that of the code points.
            for about in found.get("Contents", []):
                path = about["Key"][len(self._prefix) :]
                if path and not path.endswith("/"):
                    yield Entry(path, about["Size"], about["LastModified"].timestamp())
            if not found.get("IsTruncated"):
                return
            page["ContinuationToken"] = found["NextContinuationToken"]

    def delete(self, path: str) -> None:
        key = self._key(path)
        with self._failures(f"delete {path}"):
            try:
                self._run(self._ask, "delete_object", Key=key)
            except FileNotFoundError as error:
                if error_code(error) == "NoSuchBucket":
                    raise

    def _key(self, path: str) -> str:
        key = self._prefix + checked_path(path)
        if len(key.encode()) > LONGEST_KEY:
            raise InvalidRequest(
                f"{path} below {self.url} makes a key of {len(key.encode())} bytes; S3 allows {LONGEST_KEY}",
                next_step="use a shorter prefix",
            )
        return key

    def _run(self, work: Callable[..., Coroutine[Any, Any, Result]], *arguments: Any, **named: Any) -> Result:
        """What `work` returns, run on the loop of fsspec that all stores of this process share."""
        from fsspec.asyn import sync

        result: Result = sync(self._filesystem.loop, work, *arguments, **named)
        return result

    async def _ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """One request, repeated as `repetition` says."""
        answer: dict[str, Any] = await self._filesystem._call_s3(operation, Bucket=self._bucket, **arguments)
        return answer

    async def _get(self, key: str, **arguments: Any) -> tuple[bytes, dict[str, Any]]:
        """The bytes and the rest of the answer; asked for again when the bytes are cut short."""
        for attempts in count(1):
            answer = await self._ask("get_object", Key=key, **arguments)
            try:
                async with answer["Body"] as body:
                    return await body.read(), answer
            except Exception:  # whatever it is called, the answer was fine and its body did not arrive
                if attempts == BODIES:
                    raise
                await asyncio.sleep(pause(attempts))
        raise AssertionError("unreachable")

    async def _download(self, key: str, target: Path) -> None:
        """The first part tells the size and the version; all others must be of that version."""
        try:
            first, answer = await self._get(key, Range=f"bytes=0-{PART - 1}")
        except OSError as error:
            if error_code(error) not in BEYOND_THE_END:
                raise
            first, answer = b"", {}
        size = int(str(answer.get("ContentRange", "")).rpartition("/")[2] or len(first))
        with target.open("wb") as file:
            file.write(first)
            for group in groups(len(first), size, PART):
                ranges = [f"bytes={start}-{min(start + PART, size) - 1}" for start in group]
                parts = await asyncio.gather(
                    *(self._get(key, Range=wanted, IfMatch=answer["ETag"]) for wanted in ranges)
                )
                file.writelines(part for part, _ in parts)

    async def _put(self, key: str, data: bytes | Path) -> None:
        size = data.stat().st_size if isinstance(data, Path) else len(data)
        part = max(PART, -(-size // MOST_PARTS))
        if size < 2 * part:
            await self._ask("put_object", Key=key, Body=data.read_bytes() if isinstance(data, Path) else data)
            return
        upload = {"Key": key, "UploadId": (await self._ask("create_multipart_upload", Key=key))["UploadId"]}
        try:
            sent = await self._put_parts(upload, data, size, part)
            await self._ask("complete_multipart_upload", **upload, MultipartUpload={"Parts": sent})
        except BaseException:
            with suppress(Exception):  # what is told is why the upload failed
                await self._ask("abort_multipart_upload", **upload)
            raise

    async def _put_parts(
        self, upload: dict[str, str], data: bytes | Path, size: int, part: int
    ) -> tuple[dict[str, Any], ...]:
        sent: tuple[dict[str, Any], ...] = ()
        for group in groups(0, size, part):
            answers = await asyncio.gather(
                *(
                    self._ask("upload_part", **upload, PartNumber=start // part + 1, Body=piece(data, start, part))
                    for start in group
                ),
                # A part that arrives after the upload was given up would stay: all are waited for.
                return_exceptions=True,
            )
            for start, answer in zip(group, answers, strict=True):
                if isinstance(answer, BaseException):
                    raise answer
                sent += ({"PartNumber": start // part + 1, "ETag": answer["ETag"]},)
        return sent


def groups(start: int, size: int, part: int) -> Iterator[list[int]]:
    """Where the parts from `start` on begin, as many together as are transferred at once."""
    step = part * PARTS_AT_ONCE
    for first in range(start, size, step):
        yield list(range(first, min(first + step, size), part))


def piece(data: bytes | Path, start: int, length: int) -> bytes:
    if isinstance(data, bytes):
        return data[start : start + length]
    with data.open("rb") as file:
        file.seek(start)
        return file.read(length)


def filesystem_of(url: str, options: dict[str, Any]) -> Any:
    """s3fs's file system with all caches and all repetition but ours switched off."""
    try:
        import s3fs
        from aiobotocore.session import AioSession
    except ImportError as error:
        raise InvalidRequest(f"{url} needs a package: {error}", next_step="pip install 'tychora[s3]'") from error
    session = options.pop("session", None) or AioSession(profile=options.pop("profile", None))
    session.register("needs-retry.s3", repetition, unique_id="tychora-repetition")
    configuration = {**CONFIGURATION, **options.pop("config_kwargs", {})}
    try:
        filesystem = s3fs.S3FileSystem(
            session=session,
            config_kwargs=configuration,
            use_listings_cache=False,
            skip_instance_cache=True,
            **options,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidRequest(f"{url}: {error}", next_step="correct the options of the store") from error
    filesystem.retries = 1
    return filesystem


def place_of(url: str, filesystem: Any) -> tuple[str, str]:
    """Bucket and prefix; the prefix is empty or ends with a '/'. `InvalidRequest` for what S3 cannot hold."""
    rest = url.partition("://")[2]
    if "?versionId=" in rest:
        raise InvalidRequest(f"{url} names a version of one object", next_step="give s3://bucket/prefix")
    bucket, prefix, _ = filesystem.split_path(rest) if "/" in rest else (rest, "", None)
    if not bucket or rest.startswith("/"):
        raise InvalidRequest(f"{url} names no bucket", next_step="give s3://bucket/prefix")
    if bucket.endswith("--x-s3"):
        raise InvalidRequest(
            f"{bucket} is a directory bucket, which lists its objects in no order",
            next_step="use a general purpose bucket",
        )
    try:
        return bucket, f"{checked_path(prefix)}/" if prefix else ""
    except InvalidRequest as refused:
        raise InvalidRequest(
            f"{prefix!r} cannot be the prefix of a workspace",
            next_step="use names with '/' between them, and no '.', '..', '\\' or control character",
        ) from refused
