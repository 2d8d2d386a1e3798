"""A real HTTP proxy on loopback before an S3 server: it counts the requests, and a script says which go wrong."""

from __future__ import annotations

import http.client
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

__all__ = ["CUT", "LOST_ANSWER", "RESET", "Broken", "Proxy", "Refusal", "Request", "Slow", "first", "proxy"]


@dataclass(frozen=True)
class Request:
    """One request as it came in."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]

    @property
    def operation(self) -> str:
        """S3's own name of what is asked."""
        match self.method:
            case "GET" if self.query.get("list-type"):
                return "ListObjectsV2"
            case "GET":
                return "GetObject"
            case "HEAD":
                return "HeadObject" if self.path.count("/") > 1 else "HeadBucket"
            case "PUT" if self.query.get("partNumber"):
                return "UploadPart"
            case "PUT":
                return "PutObject"
            case "POST" if "uploads" in self.query:
                return "CreateMultipartUpload"
            case "POST":
                return "CompleteMultipartUpload"
            case "DELETE" if self.query.get("uploadId"):
                return "AbortMultipartUpload"
            case _:
                return "DeleteObject"


@dataclass(frozen=True)
class Refusal:
    """The server answers with an error and does nothing."""

    status: int
    code: str
    about: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Slow:
    """The answer comes after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Broken:
    """The connection is reset."""

    when: str


RESET = Broken("before anything is done")
LOST_ANSWER = Broken("when all is done, before the answer")
CUT = Broken("in the middle of the answer's body")

Fault = Refusal | Slow | Broken
Script = Callable[[Request], Fault | None]


def first(count: int, fault: Fault, *operations: str) -> Script:
    """The first `count` requests for `operations` (default: any) go wrong."""
    left = [count]
    lock = threading.Lock()

    def script(request: Request) -> Fault | None:
        with lock:
            if not left[0] or (operations and request.operation not in operations):
                return None
            left[0] -= 1
            return fault

    return script


class Proxy(ThreadingHTTPServer):
    """The requests are in `requests`, the names of their operations in `operations`."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, endpoint: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.server = urlsplit(endpoint).netloc
        self.script: Script = lambda request: None
        self.page: int | None = None
        self.requests: list[Request] = []

    @property
    def operations(self) -> list[str]:
        return [request.operation for request in self.requests]

    def expect(self, script: Script) -> None:
        """Forget all requests and follow `script` from now on."""
        self.requests, self.script = [], script

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that gives up is no failure of the proxy."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def handle_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        url = urlsplit(self.path)
        request = Request(
            self.command, url.path, parse_qs(url.query, keep_blank_values=True), dict(self.headers.items())
        )
        self.server.requests.append(request)
        fault = self.server.script(request)
        if isinstance(fault, Refusal):
            self.refuse(fault)
            return
        if isinstance(fault, Slow):
            time.sleep(fault.seconds)
        if fault is RESET:
            self.reset()
            return
        status, headers, answer = self.forward(request, body)
        if fault is LOST_ANSWER:
            self.reset()
            return
        self.answer(status, headers, answer[: len(answer) // 2] if fault is CUT else answer)
        if fault is CUT:
            self.reset()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def forward(self, request: Request, body: bytes) -> tuple[int, dict[str, str], bytes]:
        target = self.path
        if self.server.page and request.operation == "ListObjectsV2":
            target += f"&max-keys={self.server.page}"
        connection = http.client.HTTPConnection(self.server.server, timeout=30)
        try:
            connection.request(self.command, target, body, dict(request.headers))
            response = connection.getresponse()
            answer = response.read()
            headers = {name: value for name, value in response.getheaders() if name.lower() in KEPT or "x-amz" in name}
            return response.status, {"Content-Length": str(len(answer)), **headers}, answer
        finally:
            connection.close()

    def refuse(self, refusal: Refusal) -> None:
        about = {"Code": refusal.code, "Message": "told by a test", **refusal.about}
        parts = "".join(f"<{name}>{value}</{name}>" for name, value in about.items())
        answer = b"" if self.command == "HEAD" else f"<?xml version='1.0'?><Error>{parts}</Error>".encode()
        headers = {"Content-Type": "application/xml", "Content-Length": str(len(answer)), **refusal.headers}
        self.answer(refusal.status, headers, answer)

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def reset(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


KEPT = {"content-length", "content-type", "content-range", "etag", "last-modified", "date"}


@contextmanager
def proxy(endpoint: str) -> Iterator[Proxy]:
    """Runs a proxy before the server at `endpoint`."""
    with Proxy(endpoint) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
