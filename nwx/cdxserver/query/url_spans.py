"""The stretch of an index that a URL and a kind of match select, as pywb cuts it."""

import re

from nwx.cdxserver.query.model import MatchType
from nwx.engine.capture_index import CdxSpan, exactly
from nwx.errors import CdxQueryError, UrlError
from nwx.values.urlkeys import urlkey

_CONTROL = re.compile(r"[\x00- ]")
_NO_HOST = ("http:", "https:")
_LAST, _SURROGATES = 0x10FFFF, range(0xD800, 0xE000)


def urlkey_of(url: str) -> str:
    """Return the urlkey of a URL; raises CdxQueryError where it has none."""
    try:
        key = urlkey(url)
    except UrlError as error:
        raise CdxQueryError(f"url: {error}") from error
    if key.rstrip("/") in ("", *_NO_HOST) or _CONTROL.search(key):
        raise CdxQueryError(f"url is {url[:60]!r}, which is no URL; write an address")
    return key


def expanded(url: str, match: MatchType | None) -> tuple[str, MatchType]:
    """Return a URL without the wildcard that tells how it is meant: `*.host` or `path*`."""
    if match is not None:
        return url, match
    if url.startswith("*."):
        return url[2:], MatchType.DOMAIN
    if url.endswith("*"):
        return url[:-1], MatchType.PREFIX
    return url, MatchType.EXACT


def span_of(url: str, match: MatchType, key: str) -> CdxSpan:
    """Return the stretch of an index where captures match; `key` is the urlkey of the URL."""
    if match is MatchType.EXACT:
        return exactly(key)
    if match is MatchType.PREFIX:
        if url.endswith(("/", "?")) and not key.endswith(url[-1]):
            key += url[-1]
        return CdxSpan(key, key_after(key))
    host = key.partition(")/")[0]
    if match is MatchType.HOST:
        return CdxSpan(f"{host})/", f"{host}*")
    # `*` to `,` follow `)`: the hosts below this one, but none that is merely longer.
    start = f"{host})/" if "," in host else f"{host},"
    return CdxSpan(start, f"{host}-")


def key_after(prefix: str) -> str:
    """Return the first text that is beyond all that begin with a prefix."""
    bare = prefix.rstrip(chr(_LAST))
    following = ord(bare[-1]) + 1
    if following in _SURROGATES:
        following = _SURROGATES.stop
    return bare[:-1] + chr(following)
