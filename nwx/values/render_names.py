"""The URIs of render records, and the kinds of playback faults."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple
from urllib.parse import quote, unquote

from nwx.errors import UrlError
from nwx.values.urlkeys import urlkey


class RenderKind(StrEnum):
    """The kind of a render; values are Browsertrix's names where they exist."""

    VIEW = "view"
    THUMBNAIL = "thumbnail"
    FULL_PAGE = "fullPage"
    TEXT = "text"
    TEXT_FINAL = "textFinal"
    PAGEINFO = "pageinfo"
    DOM = "dom"
    HAR = "har"
    IMAGE_MAP = "imagemap"
    SNAPSHOT = "snapshot"


class RenderName(NamedTuple):
    """Kind and page URL in the URI of a render."""

    kind: RenderKind
    url: str


_PREFIXES = {
    RenderKind.VIEW: ("urn:view:", "screenshot:"),
    RenderKind.THUMBNAIL: ("urn:thumbnail:", "thumbnail:"),
    RenderKind.FULL_PAGE: ("urn:fullPage:",),
    RenderKind.TEXT: ("urn:text:",),
    RenderKind.TEXT_FINAL: ("urn:textFinal:",),
    RenderKind.PAGEINFO: ("urn:pageinfo:",),
    RenderKind.DOM: ("onreadydom:",),
    RenderKind.HAR: ("har:",),
    RenderKind.IMAGE_MAP: ("imagemap:",),
    RenderKind.SNAPSHOT: ("urn:X-wpull:snapshot?url=",),
}
"""The URI prefixes of each kind; the first is used for writing."""

_KINDS = {
    prefix.lower(): (kind, len(prefix)) for kind, some in _PREFIXES.items() for prefix in some
}
_LONGEST_PREFIX = max(map(len, _KINDS))
_SCHEMES = ("http://", "https://")
_WWW = "www."
_STARTS_OF_URLS = tuple(f"{scheme}{host}" for scheme in _SCHEMES for host in ("", _WWW))
_MODEL_START = _STARTS_OF_URLS[0]
_MODEL_PREFIX = "urn:view:"
_KEY_PREFIXES = {
    kind: ("",) if kind is RenderKind.SNAPSHOT else tuple(prefix.lower() for prefix in some)
    for kind, some in _PREFIXES.items()
}

RENDER_KEY_STARTS = tuple(
    prefix.lower().removesuffix("url=") if kind is RenderKind.SNAPSHOT else f"{prefix.lower()}http"
    for kind, some in _PREFIXES.items()
    for prefix in some
)
"""The prefixes of urlkeys of renders, which few other captures have."""


def render_name(target_uri: str) -> RenderName | None:
    """Return the kind and page URL in the URI of a render, None for any other URI.

    All conventions are accepted, in upper or lower case. Only web pages have renders: the text
    after the prefix must begin with http:// or https://.
    """
    start = target_uri[:_LONGEST_PREFIX].lower()
    if not start.startswith(_STARTS):
        return None
    for prefix, (kind, size) in _KINDS.items():
        if start.startswith(prefix):
            url = target_uri[size:]
            if kind is RenderKind.SNAPSHOT:
                url = unquote(url)
            return RenderName(kind, url) if url[:8].lower().startswith(_SCHEMES) else None
    return None


_STARTS = tuple(_KINDS)


def target_uri(kind: RenderKind, url: str) -> str:
    """Return the URI of a page's render: Browsertrix's, for the DOM `onreadydom:URL`."""
    return _uri(_PREFIXES[kind][0], kind, url)


def render_keys(url: str, kinds: Iterable[RenderKind] = RenderKind) -> tuple[str, ...]:
    """Return the urlkeys that renders of a page can have, for these kinds.

    Covers every convention, http and https, with and without `www.`; empty for URLs other than
    http(s).
    """
    scheme, mark, rest = url.partition("://")
    if f"{scheme.lower()}{mark}" not in _SCHEMES:
        return ()
    bare = rest[len(_WWW) :] if rest[: len(_WWW)].lower() == _WWW else rest
    asked = tuple(kinds)
    keys = (_keys(bare) if set(asked) - {RenderKind.SNAPSHOT} else ()), _snapshot_keys(bare)
    return tuple(
        f"{prefix}{key}" if kind is not RenderKind.SNAPSHOT else key
        for kind in asked
        for prefix in _KEY_PREFIXES[kind]
        for key in keys[kind is RenderKind.SNAPSHOT]
    )


def _uri(prefix: str, kind: RenderKind, url: str) -> str:
    # As in wpull: characters with a meaning in the value of a query are escaped.
    return prefix + (quote(url, safe=":/?=,;@!$'()*~|[]") if kind is RenderKind.SNAPSHOT else url)


def _keys(bare: str) -> list[str]:
    """Return the parts after the prefix of render urlkeys, for all spellings of a URL.

    The part is the same after each prefix, scheme and `www.`; computing each key separately would
    take ten times as long.
    """
    key = _key(f"{_MODEL_PREFIX}{_MODEL_START}{bare}")
    start = f"{_MODEL_PREFIX}{_MODEL_START}"
    return [f"{one}{key[len(start) :]}" for one in _STARTS_OF_URLS] if key.startswith(start) else []


def _snapshot_keys(bare: str) -> list[str]:
    key = _key(target_uri(RenderKind.SNAPSHOT, f"{_MODEL_START}{bare}"))
    before, mark, after = key.partition(f"url={_MODEL_START}")
    return [f"{before}url={one}{after}" for one in _STARTS_OF_URLS] if mark else []


def _key(uri: str) -> str:
    try:
        return urlkey(uri)
    except UrlError:
        return ""


class FaultKind(StrEnum):
    """The kinds of faults; indices, JSON and pages use the values."""

    MISSING = "missing"
    """A resource is not in the archive."""
    FAILED = "failed"
    """A resource in the archive was not played, or with an error that the crawl did not get."""
    ORIGINAL = "original"
    """A resource was captured as a revisit only, and its original is not in the archive."""
    SHORT = "short"
    """The page shows much less text than in the crawl's browser, e.g. if its capture is cut."""
    STATUS = "status"
    """The page was played with another status than it was captured."""
    LEAK = "leak"
    """The page requested a resource outside the archive, which was blocked."""
    CONSOLE = "console"
    """Scripts had more errors than in the crawl, or had errors while resources are missing."""
    REDIRECT_LOOP = "redirect_loop"
    """The page redirects to itself without end."""
    FAR = "far"
    """A resource was captured long before or after the page."""
    TIMEOUT = "timeout"
    """The page was not loaded within its time limit."""
    CRASH = "crash"
    """The page's browser process ended."""
    REFUSED = "refused"
    """The page tried a forbidden action: download, dialog, window, service worker or socket."""
