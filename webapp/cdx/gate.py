"""The short way to short answers.

Crawlers look one URL up after the other, thousands a second, and most of
that time would go into what pages need and these answers do not. What is
no plain, short answer to a question for one URL goes the usual way.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any

from nwx.cdxserver.query.dialects import DIALECTS, IA, PYWB, dialect_named
from nwx.cdxserver.query.parameters import Parameters, parameters_of
from nwx.cdxserver.server import Answer
from nwx.engine.work import working
from nwx.errors import NwxError
from webapp.cdx.origins import origin_headers
from webapp.cdx.service import SPELLINGS, CdxService
from webapp.cdx.streams import COMMON_HEADERS, WORTH_GZIP, ShortWork, beginning

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_PATH = re.compile(rf"(?:/([^/]+))?/cdx(?:/({'|'.join((*DIALECTS, *SPELLINGS))}))?")
_NOT_SO_PLAIN = ("q", "gzip", "withOriginals")


class Gate:
    """An application behind a gate that answers short questions itself."""

    def __init__(self, application: Application, service: CdxService) -> None:
        self._application = application
        self._service = service

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request, here or behind the gate."""
        found = self._short_answer(environ)
        if found is None:
            return self._application(environ, start_response)
        media_type, body = found
        charset = "; charset=utf-8" if media_type.startswith("text/") else ""
        head = [("Content-Type", f"{media_type}{charset}"), ("Content-Length", str(len(body)))]
        head += origin_headers(environ.get("HTTP_ORIGIN", ""), self._service.origins)
        start_response("200 OK", [*head, *COMMON_HEADERS])
        return (body,)

    def _short_answer(self, environ: dict[str, Any]) -> tuple[str, bytes] | None:
        if environ["REQUEST_METHOD"] != "GET":
            return None
        path = _PATH.fullmatch(environ["PATH_INFO"])
        if path is None:
            return None
        try:
            with working(ShortWork()):
                answer = self._answer(path[1] or "", path[2] or "", environ["QUERY_STRING"])
                if answer is None or not answer.urlkey:
                    return None
                body, ended = beginning(answer.pieces)
        except NwxError:
            # Told the usual way, which meets it again.
            return None
        packed = "gzip" in environ.get("HTTP_ACCEPT_ENCODING", "") and len(body) >= WORTH_GZIP
        return (answer.media_type, body) if ended and not packed else None

    def _answer(self, collection: str, variant: str, query_string: str) -> Answer | None:
        if not collection.isascii() or not query_string.isascii():
            return None
        if collection and not self._service.knows(collection):
            return None
        parameters = parameters_of(query_string)
        if any(name in parameters for name in _NOT_SO_PLAIN):
            return None
        return asked(self._service, parameters, collection, variant)


def asked(service: CdxService, parameters: Parameters, collection: str, variant: str) -> Answer:
    """Return the answer to what is asked at an address that ends with a variant."""
    # Crawlers that want digests in a spelling speak the dialect of the Internet Archive.
    usual = IA.name if variant in SPELLINGS else variant or PYWB.name
    return service.server.answer(
        parameters,
        dialect_named(parameters.text("dialect") or usual),
        collection=collection,
        digest=SPELLINGS.get(variant),
        seen=service.cover,
    )
