"""Rewriting of archived responses: headers, content encodings, and policies for scripts.

Archived pages are hostile. Their headers would affect all captures, since all
are played at one origin.
"""

import html
import re
from typing import Any, ClassVar

from pywb.rewrite.default_rewriter import RewriterWithJSProxy
from pywb.rewrite.header_rewriter import DefaultHeaderRewriter
from pywb.rewrite.html_rewriter import HTMLRewriter
from pywb.rewrite.regex_rewriters import JSWombatProxyRewriter
from pywb.utils.io import OffsetLimitReader
from pywb.utils.wbexception import UpstreamException
from pywb.warcserver.index.cdxobject import CDXObject
from warcio.bufferedreaders import BufferedReader

from webapp.replay.scripts import ScriptRewriter

AS_IT_WAS = frozenset(("id_", "ir_", "bn_", "wkrf_"))
"""The playback modes without rewritten links; nothing in them confines scripts."""

SANDBOX = (
    "sandbox; default-src 'none'; img-src 'self' data:; media-src 'self' data:;"
    " style-src 'unsafe-inline'"
)
"""An unrewritten capture is shown, but runs no scripts, loads nothing and has no origin."""

CONFINED = "default-src 'self' 'unsafe-eval' 'unsafe-inline' data: blob:; form-action 'self'"
"""A rewritten page runs scripts within its origin, which pywb's scripts share with the frame.

pywb's own policy allows web sockets to any host.
"""

BARE = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
"""Other responses run no scripts: captures could frame them and run their own in there."""

FRAME = f"{BARE}; script-src 'self'; frame-src 'self'; frame-ancestors 'none'"
"""The page around a capture may only load scripts from files.

Inline scripts could be speculation rules, which no other policy restricts.
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
"""The archived headers that keep their meaning, with pywb's rewriting rule for each.

All others, including future ones, are sent as `X-Archive-Orig-…`. For example,
- `Service-Worker-Allowed` would let a script answer for all captures,
- `Set-Cookie` reaches every port of the host, `Clear-Site-Data` empties it,
- `Refresh`, `Link` and `Speculation-Rules` load pages of the live web, `Report-To` and `NEL`
  report to it,
- `Access-Control-Allow-Origin` opens the archive to pages of other sites,
- `Strict-Transport-Security` and `Alt-Svc` keep readers away from this service,
- `WWW-Authenticate` prompts readers for passwords,
- `Memento-Datetime` and `X-Archive-Orig-…` would appear to come from this archive.
"""

_STATUS = re.compile("[1-5][0-9]{2}")
_LENGTH = re.compile("[0-9]{1,18}")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_BODILESS = re.compile("1..|304")
_DECODED = frozenset(("gzip", "x-gzip", "deflate", "br"))


class ArchivedHeaders(DefaultHeaderRewriter):  # type: ignore[misc]
    """The headers of a capture; those that affect the browser are renamed."""

    header_rules: ClassVar[dict[str, str]] = _KEPT

    def rewrite_header(self, name: str, value: str, rule: str | None) -> Any:
        """Return a rewritten header; headers without a rule get PREFIX."""
        return super().rewrite_header(name, value, rule or "prefix")

    def __call__(self) -> Any:
        """Return status line and headers, without pywb's `Service-Worker-Allowed`."""
        found = super().__call__()
        found.remove_header("Service-Worker-Allowed")
        return found


class PageRewriter(HTMLRewriter):  # type: ignore[misc]
    """pywb's HTML rewriter, which also disables speculation rules: they load any URL."""

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
    """pywb's rewriter with safe headers, correct encodings and working script modules."""

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

        Bodies are decoded: crawlers store many decoded bodies with headers
        that claim an encoding.
        """
        environ = dict(environ or {})
        if _encoding(record) in BufferedReader.get_supported_decompressors():
            # pywb decodes bodies in encodings that the client does not accept.
            environ["HTTP_ACCEPT_ENCODING"] = ""
        else:
            environ["HTTP_ACCEPT_ENCODING"] = _encoding(record)
        return super().__call__(
            record, url_rewriter, cookie_rewriter, head_insert_func, cdx, environ
        )


def tell_truth(record: Any, status: str) -> None:
    """Correct archived headers that do not fit the record.

    These are invalid status lines and headers, spellings of encodings that pywb
    overlooks, and the length of a body that was cut or decoded.
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
    """Return whether a browser can show a record's response as a page.

    After 1xx it would wait for more; 304 refers to the crawler's cache.
    """
    headers = record.http_headers
    return not (headers and _BODILESS.fullmatch(headers.get_statuscode()))


def cut_body(record: Any, url: str, first: int | None, last: int | str | None) -> bool:
    """Cut a range (RFC 9110, section 14.1.2) out of a body; False if all of it is to be sent.

    Without a number as `last`, it extends to the end. pywb refuses ranges that end after the body,
    and sends all of it for `bytes=0-0`. The bytes of encoded records differ from the body sent.
    """
    headers = record.http_headers
    length = headers.get_header("Content-Length") or ""
    if first is None or not _LENGTH.fullmatch(length) or headers.get_statuscode() != "200":
        return False
    if _encoding(record) or headers.get_header("Transfer-Encoding"):
        return False
    size = int(length)
    if first >= size:
        raise UpstreamException(416, url, f"the body has {size} bytes")
    count = (min(size, last + 1) if isinstance(last, int) else size) - first
    if count <= 0:
        return False
    headers.add_range(first, count, size)
    headers.replace_header("Content-Length", str(count))
    record.raw_stream = OffsetLimitReader(record.raw_stream, first, count)
    return True


def _encoding(record: Any) -> str:
    headers = record.http_headers
    return str((headers and headers.get_header("Content-Encoding")) or "").strip().lower()


def policy(mode: str, content_type: str) -> str:
    """Return the Content-Security-Policy of a capture played in a mode, such as `mp_`."""
    if mode not in AS_IT_WAS:
        return CONFINED
    # Browsers show no PDF in a sandbox; their PDF viewers are sandboxes.
    is_pdf = content_type.partition(";")[0].strip().lower() == "application/pdf"
    return CONFINED if is_pdf else SANDBOX
