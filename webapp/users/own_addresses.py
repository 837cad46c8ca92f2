"""Which addresses are of this service: where a login leads to, and where forms come from."""

import re
from urllib.parse import urlsplit

from flask import request
from flask_babel import LazyString, gettext, lazy_gettext
from werkzeug.exceptions import Forbidden

from webapp.hosts import host_url
from webapp.site.context import service

_MOST_CHARACTERS = 4_000
_FORMS = lazy_gettext("forms")
_BARE_CAPTURE = re.compile(r"/+replay/(?!\d{1,14}/)", re.ASCII)
"""A capture without the frame that says that it is one: it could ask for the password again."""


def own_path(text: str) -> str:
    """Return a path of this service, "" for all that could lead elsewhere.

    Browsers read `//host` and `/\\host` as another host, and pass over tabs
    and line ends.
    """
    if len(text) > _MOST_CHARACTERS or not text.startswith("/") or not text.isprintable():
        return ""
    if text[1:2] in ("/", "\\") or "\\" in text or _BARE_CAPTURE.match(text):
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return "" if parts.scheme or parts.netloc else text


def check_origin(what: LazyString = _FORMS) -> None:
    """Raise Forbidden unless a request was sent by a page of this service, or by no page.

    Archived pages are played at another port, often of the same host: to
    browsers they are the same site, and get its cookies.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        # Browsers set it themselves, but send it to addresses of TLS and of this machine only.
        if site not in ("same-origin", "none"):
            raise Forbidden(
                gettext("%(what)s are sent from the pages of this service only", what=what)
            )
        return
    origin = request.headers.get("Origin")
    if origin is not None and _origin(origin) not in _own_origins():
        raise Forbidden(
            gettext(
                "%(what)s are sent from the pages of this service only; behind a reverse "
                "proxy, --search-url names their address",
                what=what,
            )
        )


def _own_origins() -> set[tuple[str, str]]:
    return {_origin(host_url()), _origin(service().search_url)} - {("", "")}


def _origin(address: str) -> tuple[str, str]:
    """Return scheme and host of an address; ports that go without saying are left out."""
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "", ""
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    host = (parts.hostname or "").lower()
    return parts.scheme, host if port in (None, usual) else f"{host}:{port}"
