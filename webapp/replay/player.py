"""What runs in the process that plays captures: pywb, fed from the CDX endpoint of nwx.

`webapp.replay.process` starts it. It listens at a socket that it inherits and ends
when its standard input does, that is, with its parent. Importing it
presupposes that gevent has patched the standard library.
"""

import json
import logging
import os
import shutil
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast
from urllib.parse import urlsplit

import gevent
import requests
from gevent import pywsgi
from pywb.apps.frontendapp import FrontEndApp
from pywb.apps.rewriterapp import RewriterApp
from pywb.apps.wbrequestresponse import WbResponse
from pywb.utils.geventserver import RequestURIWSGIHandler
from pywb.utils.loaders import BaseLoader, BlockLoader
from pywb.utils.wbexception import NotFoundException, WbException
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.index.indexsource import BaseIndexSource
from pywb.warcserver.warcserver import register_source

from nwx.errors import SourceError
from webapp.hosts import HostCheck, given_host, hostname, other_name
from webapp.replay.rewriting import CaptureRewriter, is_encoded, policy, tell_truth
from webapp.replay.stored_records import SCHEME, file_key, open_record

CLOSEST_LIMIT = 100
MOST_CAPTURES = 10_000
MOST_DIGESTS = 3
SECONDS = 30


class NwxIndex(BaseIndexSource):  # type: ignore[misc]
    """The captures of a URL, from the CDX endpoint of nwx.

    pywb's own source for remote indices takes an outage for "not found"
    and every file name for unique; neither will do here.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.root = address.rpartition("/")[0]
        self.session = requests.Session()
        self.session.trust_env = False

    @classmethod
    def init_from_string(cls, _: str) -> None:
        """Return nothing: this source is configured by a mapping."""

    @classmethod
    def init_from_config(cls, config: dict[str, str]) -> "NwxIndex | None":
        """Return the source of a configuration of type `nwx`."""
        return cls(config["address"]) if config["type"] == "nwx" else None

    def load_index(self, params: dict[str, Any]) -> Iterator[CDXObject]:
        """Return the captures of the URL in the parameters, the closest first."""
        if params.get("matchType", "exact") != "exact":
            raise NotFoundException(params.get("url"))
        url = params.get("alt_url") or params["url"]
        asked = {"url": url, "matchType": "exact", "withOriginals": "true"}
        asked["limit"] = str(MOST_CAPTURES)
        if params.get("closest"):
            asked |= {"closest": params["closest"], "limit": str(CLOSEST_LIMIT)}
        answer = self.session.get(self.address, params=asked, timeout=SECONDS)
        if answer.status_code == 400:
            raise NotFoundException(answer.text)
        if answer.status_code != 200:
            raise ConnectionError(answer.text.strip())
        captures = [_located(CDXObject(line)) for line in answer.content.splitlines() if line]
        # With a filter, pywb looks for the original of a revisit and wants no other revisit.
        if params.get("filter"):
            return iter(captures)
        return iter(self._resolved_elsewhere(_resolved(captures), bool(params.get("closest"))))

    def _resolved_elsewhere(self, captures: list[CDXObject], wanted: bool) -> list[CDXObject]:
        """Return captures with the originals of the first revisits that have theirs at another URL.

        pywb itself finds those that the revisit record names by URL and
        date, if they are there; this finds whatever holds the payload.
        """
        lone = [capture for capture in captures if capture.is_revisit()] if wanted else []
        digests = list(dict.fromkeys(capture.get("digest", "") for capture in lone))
        for digest in filter(None, digests[:MOST_DIGESTS]):
            original = self._held(digest)
            for capture in lone:
                if original and capture.get("digest") == digest:
                    _refer(capture, original)
        return captures

    def _held(self, digest: str) -> CDXObject | None:
        """Return a capture of a payload, of whatever URL, whose file is there."""
        asked = {"digest": digest, "there": "1"}
        answer = self.session.get(f"{self.root}/dedup", params=asked, timeout=SECONDS)
        if answer.status_code == 400:
            return None  # no digest of a kind that is known
        if answer.status_code != 200:
            raise ConnectionError(answer.text.strip())
        found = answer.json()
        if not found["found"]:
            return None
        original = CDXObject()
        original["mime"] = found["mime"] or "unk"
        original["status"] = str(found["status"] or "-")
        original["length"] = str(found["length"] or "-")
        original["offset"] = str(found["offset"])
        original["filename"] = file_key(found["collection"], found["filename"])
        return original


def _located(cdx: CDXObject) -> CDXObject:
    """Return a capture whose file is named as in the path index, collection first."""
    cdx["filename"] = file_key(cdx["collection"], cdx["filename"])
    return cdx


def _resolved(captures: list[CDXObject]) -> list[CDXObject]:
    """Return captures with the place of the original in each revisit that has one among them.

    As pywb's own `cdx_resolve_revisits` does, which only helps where the
    original comes first.
    """
    originals: dict[str, CDXObject] = {}
    for capture in captures:
        if capture.get("digest") and not capture.is_revisit():
            originals.setdefault(capture["digest"], capture)
    for capture in captures:
        original = originals.get(capture.get("digest", ""))
        if original and capture.is_revisit():
            _refer(capture, original)
    return captures


def _refer(revisit: CDXObject, original: CDXObject) -> None:
    """Write the place of its original into a revisit."""
    revisit["mime"] = original["mime"]
    revisit["status"] = original.get("status", "-")
    for field in ("length", "offset", "filename"):
        revisit[f"orig.{field}"] = original.get(field, "-")


class StoredLoader(BaseLoader):  # type: ignore[misc]
    """Records out of every kind of local archive file that nwx reads."""

    def load(self, url: str, offset: int = 0, length: int = -1) -> BinaryIO:
        """Return the bytes of the record at an offset; its header tells the length."""
        try:
            return cast("BinaryIO", open_record(url, offset))
        except SourceError as error:
            raise OSError(str(error)) from error


class Rewriter(RewriterApp):  # type: ignore[misc]
    """pywb's rewriting, made to bear odd and hostile records and to say plainly what is wrong."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.js_proxy_rw = CaptureRewriter(replay_mod=self.replay_mod)
        self.jinja_env.jinja_env.globals["search_base"] = self._search_base

    def _search_base(self, prefix: str) -> str:
        """Return the address of the search service to whoever came to playback by a prefix."""
        own = self.config["nwx_search"]
        if own["url"]:
            return str(own["url"])
        parts = urlsplit(prefix)
        host = other_name(hostname(parts.netloc), own["loopback"])
        return f"{parts.scheme}://{host}:{own['port']}"

    def get_host_prefix(self, environ: dict[str, Any]) -> str:
        """Return where this process is reached, by the name that the client knows it by."""
        host = given_host(environ)
        if host:
            return f"{environ['wsgi.url_scheme']}://{host}"
        return str(super().get_host_prefix(environ))

    def add_csp_header(self, wb_url: Any, status_headers: Any) -> None:
        """Confine a capture, in whatever form it is asked for."""
        content_type = status_headers.get_header("Content-Type") or ""
        found = policy(wb_url.mod or "", content_type)
        status_headers.headers.append(("Content-Security-Policy", found))

    def _add_custom_params(
        self, cdx: CDXObject, headers: object, kwargs: object, record: Any
    ) -> None:
        """Replace what is not so in the archived headers."""
        tell_truth(record, cdx.get("status") or "200")

    def _add_range(self, record: Any, *arguments: Any) -> Any:
        """Cut a range out of a body, where the bytes of the record are those of the body."""
        return None if is_encoded(record) else super()._add_range(record, *arguments)

    def _error_response(self, environ: dict[str, Any], wbe: WbException) -> WbResponse:
        wbe.msg = words_of(wbe.msg)
        return super()._error_response(environ, wbe)


def words_of(details: object) -> str:
    """Return what people can read of the details that pywb gives with an error."""
    text = str(details.get("error") if isinstance(details, dict) else details or "")
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    return str(answer.get("message") or text) if isinstance(answer, dict) else text


class Player(FrontEndApp):  # type: ignore[misc]
    """pywb with the rewriting above."""

    REWRITER_APP_CLS = Rewriter

    def handle_request(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request, unless it is for the script of a service worker.

        Such a script would stay in the browser and answer for all captures.
        """
        if "HTTP_SERVICE_WORKER" in environ:
            refused = WbResponse.text_response(
                "archived scripts do not become service workers here\n", "403 Forbidden"
            )
            return cast("Iterable[bytes]", refused(environ, start_response))
        return cast("Iterable[bytes]", super().handle_request(environ, start_response))

    def serve_cdx(self, environ: dict[str, Any], coll: str = "") -> WbResponse:
        """Say that there is no such page: archived pages must not list what there is."""
        self.raise_not_found(environ, "coll_not_found", coll)


def _end_with_parent() -> None:
    """End the process when its standard input ends."""
    gevent.os.tp_read(sys.stdin.fileno(), 1)
    # A parent that was killed has left the working folder behind.
    shutil.rmtree(Path.cwd(), ignore_errors=True)
    os._exit(0)


def main(config_file: str) -> None:
    """Play until the parent ends."""
    logging.basicConfig(level=logging.WARNING)
    gevent.spawn(_end_with_parent)
    config = json.loads(Path(config_file).read_text(encoding="utf-8"))
    # pywb logs each request twice, and nobody would ever shorten the log.
    pywsgi.WSGIHandler.log_request = lambda _: None
    BlockLoader.loaders[SCHEME] = StoredLoader
    register_source(NwxIndex)
    application = Player(config_file=config_file)
    listening = socket.socket(fileno=config["nwx_socket"])
    pywsgi.WSGIServer(
        listening, HostCheck(application), handler_class=RequestURIWSGIHandler
    ).serve_forever()
