"""A fast path for short CDX answers.

Crawlers look up thousands of URLs a second, and most of that time would go
into the page framework. Plain questions with short answers are answered
before it; long answers and errors are handed on to the application, with
what has been read so far.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from flask import Flask

from nwx.cdxserver.query_model import DIALECTS, IA, PYWB, Parameters, dialect_named, parameters_of
from nwx.cdxserver.server import Answer, CdxServer
from nwx.engine.document_index import working
from nwx.errors import NwxError
from webapp.cdx.service import SPELLINGS, CdxService, origin_headers
from webapp.cdx.streams import (
    COMMON_HEADERS,
    WHOLE_BYTES,
    AnswerWork,
    BegunAnswer,
    begin,
    takes_gzip,
    whole,
)
from webapp.headers import Application, is_host
from webapp.server.protection import (
    LIMITS_EXTENSION,
    ROUTE,
    ClientLimits,
    is_pattern,
    question_cost,
)
from webapp.site.question_limits import client_waits

_PATH = re.compile(rf"(?:/([^/]+))?/cdx(?:/({'|'.join((*DIALECTS, *SPELLINGS))}))?")
BEGUN = "nwx.cdx-answer"
"""The environment key of an answer that has begun, or of its error, for the application."""

_NOT_SO_PLAIN = ("q", "gzip", "withOriginals")
_OF_ONE_URL = frozenset(
    (
        *("url", "urlkey", "method", "requestBody", "collection", "dialect"),
        *("from", "from_ts", "to", "filter", "sort", "reverse", "closest", "limit", "offset"),
        *("fl", "fields", "output", "digest"),
    )
)
"""The parameters that a question answered at once may have."""


class Gate:
    """WSGI middleware that answers short CDX questions and hands on all other requests."""

    def __init__(self, app: Flask, application: Application, service: CdxService) -> None:
        self._app = app
        self._application = application
        self._service = service

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request directly or by the application."""
        begun = environ[BEGUN] if BEGUN in environ else self._begun(environ)
        if isinstance(begun, BegunAnswer) and begun.ended:
            return self._sent(begun, environ, start_response)
        if begun is not None:
            environ[BEGUN] = begun
        try:
            return self._application(environ, start_response)
        finally:
            left = environ.pop(BEGUN, None)
            if isinstance(left, BegunAnswer):
                left.close()

    def at_once(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes] | None:
        """Return a short answer read from local disks, or None.

        The beginning of a longer answer stays in the environment for `__call__`.
        """
        if not (self._service.server.source.is_local and is_host(environ.get("HTTP_HOST", ""))):
            return None
        if not _is_of_one_url(environ["QUERY_STRING"]):
            return None
        begun = self._begun(environ)
        if isinstance(begun, BegunAnswer) and begun.ended:
            return self._sent(begun, environ, start_response)
        if begun is not None:
            environ[BEGUN] = begun
        return None

    def _sent(
        self, begun: BegunAnswer, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        compress = takes_gzip(environ.get("HTTP_ACCEPT_ENCODING", ""))
        body, compressed = whole(begun.head, compress=compress)
        asking = environ.get("HTTP_ORIGIN", "")
        further = _further_headers(begun.media_type, compressed, asking, self._service.origins)
        start_response("200 OK", [("Content-Length", str(len(body))), *further])
        return (body,)

    def _begun(self, environ: dict[str, Any]) -> BegunAnswer | NwxError | None:
        """Return the beginning of the answer to a plain question or its error, else None."""
        if environ["REQUEST_METHOD"] != "GET":
            return None
        path = _PATH.fullmatch(environ["PATH_INFO"])
        if path is None:
            return None
        environ[ROUTE] = (
            f"{'/<collection>' if path[1] else ''}/cdx{'/<variant>' if path[2] else ''}"
        )
        work = AnswerWork(self._service.streams, client_waits(environ))
        try:
            if self._must_wait(environ):
                work.close()
                return None
            with working(work):
                server = self._service.server_for(self._app, environ)
                answer = self._answer(server, path[1] or "", path[2] or "", environ["QUERY_STRING"])
            if answer is None:
                return None
            if isinstance(answer.pieces, list) and sum(map(len, answer.pieces)) < WHOLE_BYTES:
                return BegunAnswer(answer.media_type, b"".join(answer.pieces), True, iter(()), work)
            return begin(lambda: (answer.pieces, answer.media_type), work)
        except NwxError as error:
            work.close()
            return error

    def _must_wait(self, environ: dict[str, Any]) -> bool:
        """Charge a question to the client's limit; return whether the client must wait.

        The application then sends the refusal.
        """
        limits: ClientLimits | None = self._app.extensions.get(LIMITS_EXTENSION)
        if limits is None:
            return False
        return limits.wait(self._app, environ, question_cost(environ["QUERY_STRING"])) > 0

    def _answer(
        self, server: CdxServer, collection: str, variant: str, query_string: str
    ) -> Answer | None:
        if not collection.isascii() or not query_string.isascii():
            return None
        if collection and not self._service.knows(server, collection):
            return None
        parameters = parameters_of(query_string)
        if parameters.has_any(_NOT_SO_PLAIN):
            return None
        return asked(self._service, server, parameters, collection, variant)


@lru_cache(1_000)
def _further_headers(
    media_type: str, compressed: bool, asking: str, origins: frozenset[str]
) -> Sequence[tuple[str, str]]:
    charset = "; charset=utf-8" if media_type.startswith("text/") else ""
    head = [("Content-Type", f"{media_type}{charset}")]
    head += [("Content-Encoding", "gzip")] if compressed else []
    return (*head, *origin_headers(asking, origins), *COMMON_HEADERS)


def _is_of_one_url(query_string: str) -> bool:
    """Return whether a question has only parameters of look-ups of a single URL."""
    for part in query_string.split("&"):
        name, _, value = part.partition("=")
        if name not in _OF_ONE_URL or (name == "url" and is_pattern(value)):
            return False
    return True


def asked(
    service: CdxService, server: CdxServer, parameters: Parameters, collection: str, variant: str
) -> Answer:
    """Return the answer to the parameters of a request for a variant of the CDX server."""
    # Crawlers that want a digest spelling use the dialect of the Internet Archive; so do clients
    # that page by resume keys, which pywb lacks.
    is_ia = variant in SPELLINGS or (
        not variant and (parameters.text("resumeKey") or parameters.truth("showResumeKey"))
    )
    usual = IA.name if is_ia else variant or PYWB.name
    return server.answer(
        parameters,
        dialect_named(parameters.text("dialect") or usual),
        collection=collection,
        digest=SPELLINGS.get(variant),
        seen=service.cover,
    )
