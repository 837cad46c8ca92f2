"""What playback makes of archived answers: which headers stay, what is decoded, what may run.

Archived pages are hostile. Whatever a header of theirs would do to a browser
is done to all captures, since all are played at one origin.
"""

import html
import re
from typing import Any, ClassVar

from pywb.rewrite.default_rewriter import RewriterWithJSProxy
from pywb.rewrite.header_rewriter import DefaultHeaderRewriter
from pywb.rewrite.html_rewriter import HTMLRewriter
from pywb.rewrite.regex_rewriters import JSWombatProxyRewriter
from pywb.warcserver.index.cdxobject import CDXObject
from warcio.bufferedreaders import BufferedReader

from webapp.replay.scripts import ScriptRewriter

AS_IT_WAS = frozenset(("id_", "ir_", "bn_", "wkrf_"))
"""The forms of a capture whose links are left as they were; nothing confines their scripts."""

SANDBOX = (
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self' data:;"
    " style-src 'unsafe-inline'"
)
"""A capture as it was is shown, but runs nothing, loads nothing and has no origin."""

CONFINED = "default-src 'self' 'unsafe-eval' 'unsafe-inline' data: blob:; form-action 'self'"
"""A rewritten page runs, within its origin: pywb's scripts need that of the frame around it.

pywb's own policy allows web sockets to any host.
"""

BARE = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""What is no capture runs nothing: captures can frame it, and would run their scripts there."""

FRAME = f"{BARE}; script-src 'self'; frame-src 'self'; frame-ancestors 'none'"
"""The page around a capture has its scripts in files.

Inline scripts could be speculation rules, which are bound by no other policy.
"""

POLICY_HEADER = "Content-Security-Policy"
PREFIX = "X-Archive-Orig-"

_KEPT = {
    "accept-ranges": "keep",
    "allow": "keep",
    "content-disposition": "keep",
    "content-encoding": "prefix-if-content-rewrite",
    "content-language": "keep",
    "content-length": "content-length",
    "content-location": "url-rewrite",
    "content-range": "keep",
    "content-type": "keep",
    "location": "url-rewrite",
    "transfer-encoding": "transfer-encoding",
}
"""The archived headers that keep their meaning, by pywb's names of what is done to them.

All others are sent as `X-Archive-Orig-…`, those of tomorrow included. Of today's,
- `Service-Worker-Allowed` would let a script answer for all captures,
- `Set-Cookie` reaches every port of the host, `Clear-Site-Data` empties it,
- `Refresh`, `Link` and `Speculation-Rules` load pages of the live web, `Report-To` and `NEL`
  report to it,
- `Access-Control-Allow-Origin` opens the archive to the pages of others,
- `Strict-Transport-Security` and `Alt-Svc` keep readers away from this service,
- `WWW-Authenticate` asks readers for passwords,
- `Memento-Datetime` and `X-Archive-Orig-…` would speak for this archive.
"""

_STATUS = re.compile("[1-5][0-9]{2}")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BODILESS = re.compile("1..|304")
_DECODED = frozenset(("gzip", "x-gzip", "deflate", "br"))


class ArchivedHeaders(DefaultHeaderRewriter):  # type: ignore[misc]
    """The headers of a capture, those that do something to a browser made harmless."""

    header_rules: ClassVar[dict[str, str]] = _KEPT

    def rewrite_header(self, name: str, value: str, rule: str | None) -> Any:
        """Return a header as it is sent."""
        return super().rewrite_header(name, value, rule or "prefix")

    def __call__(self) -> Any:
        """Return status line and headers; no capture says what a service worker may do."""
        found = super().__call__()
        found.remove_header("Service-Worker-Allowed")
        return found


class PageRewriter(HTMLRewriter):  # type: ignore[misc]
    """pywb's rewriter of HTML, which leaves no speculation rules: they load whatever they name."""

    def _rewrite_tag_attrs(
        self, tag: str, tag_attrs: list[tuple[str, str]], set_parsing_context: bool = True
    ) -> Any:
        if tag == "script":
            tag_attrs = [
                (name, f"archived-{value}" if name == "type" and _speculates(value) else value)
                for name, value in tag_attrs
            ]
        return super()._rewrite_tag_attrs(tag, tag_attrs, set_parsing_context)


def _speculates(script_type: str | None) -> bool:
    return html.unescape(script_type or "").strip().lower() == "speculationrules"


class CaptureRewriter(RewriterWithJSProxy):  # type: ignore[misc]
    """pywb's rewriter, which sends what is true of a capture and what is harmless."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.all_rewriters |= {"header": ArchivedHeaders, "html": PageRewriter}

    def get_rewriter(self, rw_type: str, rwinfo: Any = None) -> Any:
        """Return the class that rewrites bodies of a type."""
        found = super().get_rewriter(rw_type, rwinfo)
        return ScriptRewriter if found is JSWombatProxyRewriter else found

    def __call__(
        self,
        record: Any,
        url_rewriter: Any,
        cookie_rewriter: Any,
        head_insert_func: Any = None,
        cdx: CDXObject | None = None,
        environ: dict[str, Any] | None = None,
    ) -> Any:
        """Return status and headers, the pieces of the body, and whether it was rewritten.

        Bodies are decoded: crawlers store many that are decoded already
        beside headers that say otherwise.
        """
        environ = dict(environ or {})
        if _encoding(record) in BufferedReader.get_supported_decompressors():
            # pywb decodes what the client does not take.
            environ["HTTP_ACCEPT_ENCODING"] = ""
        else:
            environ["HTTP_ACCEPT_ENCODING"] = _encoding(record)
        return super().__call__(
            record, url_rewriter, cookie_rewriter, head_insert_func, cdx, environ
        )


def tell_truth(record: Any, status: str) -> None:
    """Replace what the archived headers of a record say about it and what is not so.

    That is a status line or a header that no server could send, spellings of encodings
    that pywb overlooks, and the length of a body that was cut or decoded.
    """
    headers = record.http_headers
    if not headers:
        return
    if not _STATUS.fullmatch(headers.get_statuscode()):
        headers.statusline = f"{status if _STATUS.fullmatch(status) else 200} Archived"
    headers.statusline = _CONTROLS.sub(" ", headers.statusline)
    headers.headers = [
        (_CONTROLS.sub(" ", name), _CONTROLS.sub(" ", value)) for name, value in headers.headers
    ]
    if (headers.get_header("Transfer-Encoding") or "").strip().lower() == "chunked":
        headers.replace_header("Transfer-Encoding", "chunked")
    encoding = _encoding(record)
    if encoding in _DECODED:
        headers.replace_header("Content-Encoding", encoding.removeprefix("x-"))
    elif headers.get_header("Content-Length") and isinstance(
        length := getattr(record.raw_stream, "limit", None), int
    ):
        headers.replace_header("Content-Length", str(length))


def has_content(record: Any) -> bool:
    """Return whether a browser that has asked for a page can take an answer for one.

    It waits for more after 1xx; 304 is about what a crawler had.
    """
    headers = record.http_headers
    return not (headers and _BODILESS.fullmatch(headers.get_statuscode()))


def is_encoded(record: Any) -> bool:
    """Return whether the bytes of a record are no stretch of what is sent."""
    return bool(_encoding(record) or record.http_headers.get_header("Transfer-Encoding"))


def _encoding(record: Any) -> str:
    headers = record.http_headers
    return str((headers and headers.get_header("Content-Encoding")) or "").strip().lower()


def policy(mode: str, content_type: str) -> str:
    """Return the Content-Security-Policy of a capture that is played in a mode, such as `mp_`."""
    if mode not in AS_IT_WAS:
        return CONFINED
    # Browsers show no PDF in a sandbox; their viewers are one.
    is_pdf = content_type.partition(";")[0].strip().lower() == "application/pdf"
    return CONFINED if is_pdf else SANDBOX
