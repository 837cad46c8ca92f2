"""Requests read from the bytes of a connection; what is too large is refused before it is read."""

import io
import sys
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import IO, Any
from urllib.parse import unquote_to_bytes, urlsplit

from httptools import (
    HttpParserCallbackError,
    HttpParserError,
    HttpParserUpgrade,
    HttpRequestParser,
)

from webapp.server.tokens import has_token

MOST_HEAD_BYTES = 1 << 20
"""Cookies go by the host, whatever the port: browsers send up to 180 of 4,096 bytes."""

MOST_BODY_BYTES = 1 << 20
MOST_POSTED_BYTES = 1 << 37
"""What a client may send who has the token: a few hundred million lines."""

_HELD_BYTES = 1 << 23
"""More of a body than this is kept in a temporary file."""

_MOST_CHUNK_COST = 16
"""The bytes sent for each byte of a body: chunks of one byte take six."""

_UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}


class _RefusedError(Exception):
    """The rest of a request is not read."""


@dataclass(slots=True)
class Request:
    """A complete request: its WSGI environment, and how its answer goes over the connection."""

    environ: dict[str, Any]
    version: str
    keep_alive: bool
    body: IO[bytes]


class RequestReader:
    """Reads the requests of one connection.

    `refused` is the status of a request that is not read to its end; what
    follows it is not read either. `wants_continue` is set while a client
    waits to be told that it may send a body.
    """

    def __init__(self, token: str, environ: dict[str, Any]) -> None:
        self._token = token
        self._base = environ
        self._parser = HttpRequestParser(self)
        self._complete: list[Request] = []
        self.refused: HTTPStatus | None = None
        self._reset()

    def _reset(self) -> None:
        self.begun = self.in_body = self.sends_much = self.wants_continue = False
        self._read = self._head_bytes = self._body_bytes = 0
        self._most_bytes = MOST_BODY_BYTES
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body: IO[bytes] | None = None
        self._keep_alive = False

    def feed(self, data: bytes) -> list[Request]:
        """Return the requests that are complete with these bytes."""
        self.begun = True
        self._read += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            # Whatever protocol is asked for, this one is spoken, and nothing else follows.
            if self._complete:
                self._complete[-1].keep_alive = False
        except HttpParserCallbackError as error:
            if not isinstance(error.__context__, _RefusedError):
                raise
        except HttpParserError:
            self.refused = HTTPStatus.BAD_REQUEST
        if self._read > MOST_HEAD_BYTES + _MOST_CHUNK_COST * self._body_bytes:
            self.refused = self.refused or HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        complete, self._complete = self._complete, []
        return complete

    def on_message_begin(self) -> None:
        """Begin a request; called by the parser, as the others."""
        self.begun = True

    def on_url(self, target: bytes) -> None:
        """Take a part of the target."""
        self._count_head(len(target))
        self._target += target

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; those behind a body, and names with `_`, are dropped."""
        self._count_head(len(name) + len(value))
        key = _environ_key(name)
        if not key or self.in_body:
            return
        text = value.decode("latin-1")
        if key in self._headers:
            joint = "; " if key == "HTTP_COOKIE" else ", "
            text = f"{self._headers[key]}{joint}{text}"
        self._headers[key] = text

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MOST_HEAD_BYTES:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Decide by its head how much of a request is read."""
        headers = self._headers
        self.in_body = True
        self._keep_alive = self._parser.should_keep_alive()
        self.sends_much = has_token(headers.get("HTTP_AUTHORIZATION", ""), self._token)
        self._most_bytes = MOST_POSTED_BYTES if self.sends_much else MOST_BODY_BYTES
        length = headers.get("CONTENT_LENGTH", "")
        if length.isdigit() and (len(length) > 15 or int(length) > self._most_bytes):
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        self.wants_continue = headers.get("HTTP_EXPECT", "").lower() == "100-continue"

    def on_body(self, data: bytes) -> None:
        """Take a part of the body."""
        self.wants_continue = False
        self._body_bytes += len(data)
        if self._body_bytes > self._most_bytes:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        if self._body is None:
            self._body = SpooledTemporaryFile(_HELD_BYTES, prefix="nwx-request-")  # noqa: SIM115
        try:
            self._body.write(data)
        except OSError:
            self._refuse(HTTPStatus.INSUFFICIENT_STORAGE)

    def on_message_complete(self) -> None:
        """Add the request to those that are complete."""
        path, query = self._split_target()
        environ = self._base | self._headers
        version = self._parser.get_http_version()
        environ["REQUEST_METHOD"] = self._parser.get_method().decode("latin-1")
        environ["SERVER_PROTOCOL"] = f"HTTP/{version}"
        environ["PATH_INFO"] = path
        environ["QUERY_STRING"] = query
        body = self._body or io.BytesIO()
        environ["wsgi.input"] = body
        if self._body_bytes:
            body.seek(0)
            # Of chunks, too, the length is known now.
            environ.pop("HTTP_TRANSFER_ENCODING", None)
            environ["CONTENT_LENGTH"] = str(self._body_bytes)
        self._complete.append(Request(environ, version, self._keep_alive, body))
        self._reset()

    def _split_target(self) -> tuple[str, str]:
        """Return path and query of the target; a path has its bytes as Latin-1, as WSGI wants."""
        target = self._target.partition(b"#")[0]
        path, _, query = target.partition(b"?")
        if not path.startswith(b"/") and path != b"*":
            path = self._path_of_address(path)
        if b"%" in path:
            path = unquote_to_bytes(path)
        return path.decode("latin-1"), query.decode("latin-1")

    def _path_of_address(self, address: bytes) -> bytes:
        """Return the path of a target that is a whole address, as proxies are sent."""
        try:
            parts = urlsplit(address.decode("latin-1"))
        except ValueError:
            self._refuse(HTTPStatus.BAD_REQUEST)
        if not (parts.scheme and parts.netloc):
            self._refuse(HTTPStatus.BAD_REQUEST)
        return (parts.path or "/").encode("latin-1")

    def _refuse(self, status: HTTPStatus) -> None:
        self.refused = status
        raise _RefusedError

    def close(self) -> None:
        """Let go of what was read of a request."""
        if self._body is not None:
            self._body.close()


@lru_cache(1_000)
def _environ_key(name: bytes) -> str:
    """Return how WSGI names a header, "" for one with `_`, which could pass for another."""
    if b"_" in name or len(name) > 200:
        return ""
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in _UNPREFIXED else f"HTTP_{key}"


def environ_base(host: str, port: int, client: str, client_port: int) -> dict[str, Any]:
    """Return what the WSGI environments of all requests of a connection have in common."""
    return {
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        "wsgi.input_terminated": True,
        "SERVER_SOFTWARE": "nwx",
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SCRIPT_NAME": "",
        "REMOTE_ADDR": client,
        "REMOTE_HOST": client,
        "REMOTE_PORT": str(client_port),
    }
