"""pywb as run by nwx: in the reader's language, with access rules, on an inherited socket."""

import json
import logging
import math
import os
import shutil
import socket
import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, cast
from urllib.parse import parse_qs, urlsplit

import gevent
import requests
from gevent import pywsgi
from jinja2 import pass_context
from jinja2.runtime import Context
from pywb.apps.frontendapp import FrontEndApp
from pywb.apps.rewriterapp import RewriterApp
from pywb.apps.wbrequestresponse import WbResponse
from pywb.utils.loaders import BaseLoader, BlockLoader
from pywb.utils.wbexception import WbException
from pywb.warcserver import handlers
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.resource import responseloader
from pywb.warcserver.resource.resolvingloader import ResolvingLoader
from pywb.warcserver.warcserver import register_source
from warcio.recordloader import ArchiveLoadFailed

from nwx.access.user_options import network_of
from nwx.errors import SourceError
from webapp.headers import (
    ROBOTS_TXT,
    Application,
    HostCheck,
    given_host,
    hostname,
    is_known_host,
    pages_host,
    playback_host,
)
from webapp.replay.capture_lookup import NwxIndex, OtherQueries, bar_captures
from webapp.replay.confined_handler import ConfinedHandler
from webapp.replay.process import PlaybackFolder
from webapp.replay.rewriter import (
    FRAME,
    POLICY_HEADER,
    CaptureRewriter,
    cut_body,
    has_content,
    policy,
    tell_truth,
)
from webapp.replay.routes import COLLECTION, TEMPLATE_FUNCTIONS, asked_language, language_answer
from webapp.replay.stored_records import SCHEME, complete_headers, open_record
from webapp.server.protection import LOOK_UP, USER_SHARE, ClientLimits, SharedProtection, payer_at
from webapp.site.viewer import PASS_HEADER, BehindProxies, PlayerViewers, ProxyHeaders, host_of

CAPTURES = "/nwx-captures"
_REASON = "reason"


class UnplayableError(WbException):  # type: ignore[misc]
    """A capture that cannot be shown; the values of `reason` are for the error template."""

    status_code = 404

    def __init__(self, url: str, **reason: Any) -> None:
        super().__init__({_REASON: reason}, url)


def reason_of(message: Any) -> dict[str, Any] | None:
    """Return the reason in a playback error, or in one that pywb passes on as JSON, or None."""
    if not isinstance(message, dict):
        return None
    if "error" in message:
        try:
            message = json.loads(message["error"])["message"]
        except (ValueError, TypeError, KeyError):
            return None
    return message.get(_REASON) if isinstance(message, dict) else None


class OriginalLoader(ResolvingLoader):  # type: ignore[misc]
    """pywb's record loader, with an error that names the missing original of a revisit."""

    def _resolve_path_load(self, *given: Any) -> Any:
        record = super()._resolve_path_load(*given)
        complete_headers(record)
        headers = record.http_headers
        if record.rec_type == "revisit" and headers and headers.get_statuscode() == "304":
            # "Not modified" was meant for the crawler; readers get the original with its head.
            headers.headers, headers.statusline = [], ""
        return record

    def _load_different_url_payload(
        self, cdx: Any, headers_record: Any, failed_files: list[str], cdx_loader: Any
    ) -> Any:
        try:
            return super()._load_different_url_payload(
                cdx, headers_record, failed_files, cdx_loader
            )
        except ArchiveLoadFailed as error:
            if failed_files:  # the original is in an unreadable file
                raise
            head = headers_record.rec_headers
            original = {
                "url": head.get_header("WARC-Refers-To-Target-URI") or cdx["url"],
                "date": head.get_header("WARC-Refers-To-Date") or "",
                "digest": head.get_header("WARC-Payload-Digest") or "",
            }
            raise UnplayableError(cdx["url"], original=original) from error


class StoredLoader(BaseLoader):  # type: ignore[misc]
    """Loader of records from all kinds of local archive files that nwx reads."""

    def load(self, url: str, offset: int = 0, length: int = -1) -> BinaryIO:
        """Return a stream of the record at an offset; its header, not `length`, has the length."""
        try:
            return cast("BinaryIO", open_record(url, offset))
        except SourceError as error:
            raise OSError(str(error)) from error


class Rewriter(RewriterApp):  # type: ignore[misc]
    """pywb's rewriting, hardened against odd and hostile records, with clear error pages."""

    viewers: ClassVar[PlayerViewers]
    """Identifies the viewers of requests; set before the application is made."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.js_proxy_rw = CaptureRewriter(replay_mod=self.replay_mod)
        self._session = requests.Session()
        self._session.trust_env = False
        shared = self.jinja_env.jinja_env.globals
        shared["search_base"] = self._search_base
        shared["host_of"] = host_of
        shared["captures_of"] = self._captures_of
        shared.update(TEMPLATE_FUNCTIONS)
        shared["archive_title"] = self.config["nwx_search"]["title"]

    @pass_context
    def _captures_of(self, context: Context, url: str) -> str:
        """Return the captures of a URL for the bar, as the viewer may see them."""
        return self.captures_for(context["env"], url)

    def captures_for(self, environ: dict[str, Any], url: str) -> str:
        """Return the captures of a URL for the bar, as the viewer of a request may see them."""
        address = self.config["collections"][COLLECTION]["index"]["address"]
        return bar_captures(self._session, address, url, self.viewers.header(environ))

    def _do_req(self, inputreq: Any, wb_url: Any, kwargs: Any, skip_record: Any) -> Any:
        """Request a record with the viewer's pass and language."""
        inputreq.warcserver_headers[PASS_HEADER] = self.viewers.header(inputreq.env)
        inputreq.warcserver_headers["Accept-Language"] = asked_language(inputreq.env)
        return super()._do_req(inputreq, wb_url, kwargs, skip_record)

    def _search_base(self, prefix: str) -> str:
        """Return the search service's address for a reader who came to playback by `prefix`."""
        own = self.config["nwx_search"]
        if own["url"]:
            return str(own["url"])
        parts = urlsplit(prefix)
        host = pages_host(hostname(parts.netloc), own["loopback"])
        return f"{parts.scheme}://{host}:{own['port']}"

    def get_host_prefix(self, environ: dict[str, Any]) -> str:
        """Return scheme and host of this process as the client sees them."""
        host = given_host(environ)
        if host:
            return f"{environ['wsgi.url_scheme']}://{host}"
        return str(super().get_host_prefix(environ))

    def add_csp_header(self, wb_url: Any, status_headers: Any) -> None:
        """Add the Content-Security-Policy of a capture, whatever its mode."""
        content_type = status_headers.get_header("Content-Type") or ""
        found = policy(wb_url.mod or "", content_type)
        status_headers.headers.append((POLICY_HEADER, found))

    def format_response(self, response: Any, wb_url: Any, *arguments: Any) -> WbResponse:
        """Return a response that is not a capture; a page around a capture gets a policy."""
        found = super().format_response(response, wb_url, *arguments)
        if self.is_framed_replay(wb_url):
            found.status_headers.headers.append((POLICY_HEADER, FRAME))
        return found

    def _add_custom_params(
        self, cdx: CDXObject, headers: object, kwargs: object, record: Any
    ) -> None:
        """Correct wrong archived headers; raise UnplayableError on a response without content."""
        tell_truth(record, cdx.get("status") or "200")
        if not has_content(record):
            raise UnplayableError(cdx["url"], status=record.http_headers.get_statuscode())

    def _add_range(self, record: Any, wb_url: Any, *bounds: Any) -> bool:
        """Cut a range out of a body; return whether this was done."""
        return cut_body(record, wb_url.url, *bounds)

    def handle_error(self, environ: dict[str, Any], wbe: WbException) -> WbResponse:
        """Return the page of an error."""
        reason = reason_of(wbe.msg)
        if reason is None:
            return super().handle_error(environ, wbe)
        page = self.error_view.render_to_string(environ, err_msg=wbe.url, **reason)
        return WbResponse.text_response(page, "404 Not Found", "text/html; charset=utf-8")

    def _error_response(self, environ: dict[str, Any], wbe: WbException) -> WbResponse:
        wbe.msg = words_of(wbe.msg)
        return super()._error_response(environ, wbe)


def words_of(details: object) -> str:
    """Return the readable message in pywb's details of an error."""
    text = str(details.get("error") if isinstance(details, dict) else details or "")
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    return str(answer.get("message") or text) if isinstance(answer, dict) else text


class Player(FrontEndApp):  # type: ignore[misc]
    """pywb with `Rewriter`, rate limits and viewers."""

    REWRITER_APP_CLS = Rewriter
    limits: ClassVar[ClientLimits | None] = None

    def handle_request(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request; refuse scripts of service workers.

        A service worker would stay in the browser and answer for all captures.
        """
        if environ.get("PATH_INFO") == "/robots.txt":
            told = WbResponse.text_response(ROBOTS_TXT)
            return cast("Iterable[bytes]", told(environ, start_response))
        wait = math.ceil(self._wait(environ))
        if wait:
            page = self.rewriterapp.error_view.render_to_string(environ, retry_after=wait)
            late = WbResponse.text_response(
                page, "429 Too Many Requests", "text/html; charset=utf-8"
            )
            late.status_headers.headers.append(("Retry-After", str(wait)))
            return cast("Iterable[bytes]", late(environ, start_response))
        arrived = Rewriter.viewers.arrived(environ, start_response)
        arrived = arrived or language_answer(environ, start_response)
        if arrived is not None:
            return arrived
        if environ.get("PATH_INFO") == CAPTURES:
            return self._told_captures(environ, start_response)
        if "HTTP_SERVICE_WORKER" in environ:
            refused = WbResponse.text_response(
                "archived scripts do not become service workers here\n", "403 Forbidden"
            )
            return cast("Iterable[bytes]", refused(environ, start_response))
        return cast("Iterable[bytes]", super().handle_request(environ, start_response))

    def _told_captures(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer the bar with the captures of the page in its frame, as a same-origin script."""
        url = parse_qs(environ.get("QUERY_STRING", "")).get("url", [""])[0]
        found = self.rewriterapp.captures_for(environ, url) if url else ""
        script = WbResponse.text_response(
            f'nwxCaptures = "{found}";', content_type="text/javascript; charset=utf-8"
        )
        script.status_headers.headers += [
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("X-Content-Type-Options", "nosniff"),
        ]
        return cast("Iterable[bytes]", script(environ, start_response))

    def _wait(self, environ: dict[str, Any]) -> float:
        """Charge a request for a capture; return 0, or the seconds until it can be answered."""
        charged = (f"/{COLLECTION}/", CAPTURES)
        if self.limits is None or not environ.get("PATH_INFO", "").startswith(charged):
            return 0.0
        user = Rewriter.viewers.user(environ)
        if user:
            return self.limits.take(f"user {user}", LOOK_UP, USER_SHARE)
        return self.limits.take(payer_at(str(environ.get("REMOTE_ADDR", ""))), LOOK_UP)

    def _check_refer_redirect(self, environ: dict[str, Any]) -> Any:
        """Redirect a link that was not rewritten to a capture, except below captures."""
        is_capture = environ.get("SCRIPT_NAME", "").startswith(f"/{COLLECTION}")
        return None if is_capture else super()._check_refer_redirect(environ)

    def serve_cdx(self, environ: dict[str, Any], coll: str = "") -> WbResponse:
        """Answer with "not found": archived pages must not be able to list captures."""
        self.raise_not_found(environ, "coll_not_found", coll)


class OwnHost:
    """Serves playback at one host name only: at others, captures would share the pages' cookies.

    `own` is its address, "" to derive it from the Host header; `names` are as in
    `is_known_host`.
    """

    def __init__(self, application: Application, own: str, names: Collection[str] | None) -> None:
        self._application, self._own, self._names = application, own, names

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request, or redirect to the same path at the playback host."""
        given = urlsplit(f"{environ['wsgi.url_scheme']}://{given_host(environ)}")
        host = hostname(given.netloc)
        if self._own:
            own = hostname(urlsplit(self._own).netloc)
        else:
            own = playback_host(host) if is_known_host(host, self._names) else "localhost"
        if own == host or not given.netloc:
            return self._application(environ, start_response)
        base = self._own or f"{given.scheme}://{given.netloc.replace(host, own)}"
        headers = [("Location", base + environ["REQUEST_URI"]), ("Content-Length", "0")]
        start_response("307 Temporary Redirect", headers)
        return (b"",)


def _end_with_parent(shared: str) -> None:
    """End the process when its standard input ends."""
    gevent.os.tp_read(sys.stdin.fileno(), 1)
    # A killed parent has not deleted the working folder and the shared files.
    for folder in (str(Path.cwd()), shared):
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _proxies(config: dict[str, Any]) -> ProxyHeaders:
    """Return the trusted reverse proxies, as for the pages."""
    known = config["nwx_proxies"]
    return ProxyHeaders(*(tuple(map(network_of, known[name])) for name in ("trusted", "naming")))


def main(config_file: str) -> None:
    """Run playback until the parent process ends."""
    logging.basicConfig(level=logging.WARNING)
    config = json.loads(Path(config_file).read_text(encoding="utf-8"))
    told = config["nwx_protection"]
    gevent.spawn(_end_with_parent, told["folder"] if told else "")
    BlockLoader.loaders[SCHEME] = StoredLoader
    register_source(NwxIndex)
    handlers.FuzzyMatcher = OtherQueries
    responseloader.ResolvingLoader = OriginalLoader
    Rewriter.viewers = PlayerViewers(PlaybackFolder(Path(config_file).parent).passes())
    NwxIndex.viewers = Rewriter.viewers
    stack = ExitStack()
    if told:
        shared = SharedProtection.from_json(told)
        Player.limits, ConfinedHandler.counts = shared.limits(stack), shared.counts(stack)
    application = Player(config_file=config_file)
    at_own = OwnHost(application, config["nwx_own"], config["nwx_hosts"])
    listening = socket.socket(fileno=config["nwx_socket"])
    pywsgi.WSGIServer(
        listening,
        BehindProxies(HostCheck(at_own), _proxies(config)),
        handler_class=ConfinedHandler,
    ).serve_forever()
