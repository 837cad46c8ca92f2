"""Captures stored under another urlkey than the URL they show; rules on that URL apply.

These are renders (`urn:view:URL` and the like, `nwx.values.render_names`), host look-ups
recorded by crawlers (`dns:HOST`, `whois:HOST`), and requests with a body, whose urlkeys hold
the body as a query.
"""

from nwx.errors import UrlError
from nwx.values.render_names import RENDER_KEY_STARTS, render_name
from nwx.values.urlkeys import urlkey as urlkey_of

_HOST_STARTS = ("dns:", "whois:")
SUBJECT_STARTS = (*RENDER_KEY_STARTS, *_HOST_STARTS)
"""How the urlkeys of renders and of look-ups begin."""

BODY_MARK = "__wb_method="
"""What the urlkeys of requests with a body have in them."""


def subject_key(urlkey: str, url: str) -> str:
    """Return the urlkey of the URL that a capture shows, "" if it is its own urlkey.

    `url` is its URL, or "" if only the urlkey is known.
    """
    uri = url or urlkey
    if BODY_MARK in urlkey:
        page = url
    elif not urlkey.startswith(SUBJECT_STARTS):
        return ""
    elif urlkey.startswith(_HOST_STARTS):
        host = uri.partition(":")[2].strip("/")
        page = f"http://{host}/" if host else ""
    else:
        name = render_name(uri)
        page = name.url if name else ""
    try:
        return urlkey_of(page) if page else ""
    except UrlError:
        return ""
