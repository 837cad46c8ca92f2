"""Outlinks: attribute values made absolute, checked and deduplicated."""

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urljoin, urlsplit

from nwx.extract.clean import clean_line
from nwx.model import Link

_LONGEST = 8_000  # characters of a URL; longer ones are data in disguise
_LONGEST_TEXT = 1_000
_ABSOLUTE = re.compile(r"(?:https?|ftp)://[^\s/?#]", re.I)
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
_DOTS = re.compile(r"(?:^|/)\.\.?(?:/|$)")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff]")

RawLink = tuple[str, str, str]
"""Kind, attribute value and text of a link as the markup has them."""


class Resolver:
    """References of one page to absolute URLs, as browsers resolve them.

    The ways that pages use most are put together here; urljoin, ten times
    slower, does the rest.
    """

    def __init__(self, url: str, base: str = "") -> None:
        self._base = _joined(url, base.strip()) if base else url
        if not _ABSOLUTE.match(self._base):
            self._base = url
        try:
            parts = urlsplit(self._base)
        except ValueError:
            parts = urlsplit("")
        self._scheme = parts.scheme
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._page = self._origin + parts.path
        self._folder = self._origin + (parts.path.rpartition("/")[0] or "") + "/"

    def absolute(self, reference: str) -> str:
        """Return the absolute URL of a reference without its fragment, "" if it is no link."""
        reference = reference.strip().partition("#")[0]
        if not reference or len(reference) > _LONGEST:
            return ""
        url = self._join(reference)
        if not _ABSOLUTE.match(url) or len(url) > _LONGEST:
            return ""
        return _UNSAFE.sub(_escape, url) if _UNSAFE.search(url) else url

    def _join(self, reference: str) -> str:
        if "\n" in reference or "\t" in reference or "\r" in reference:
            reference = re.sub(r"[\t\r\n]", "", reference)
        if _ABSOLUTE.match(reference):
            return reference
        if _SCHEME.match(reference) or _DOTS.search(reference):
            return _joined(self._base, reference)
        if reference.startswith("//"):
            return f"{self._scheme}:{reference}"
        if reference.startswith("/"):
            return self._origin + reference
        if reference.startswith("?"):
            return self._page + reference
        return self._folder + reference


def _joined(base: str, reference: str) -> str:
    try:
        return urljoin(base, reference)
    except ValueError:
        return ""


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


def outlinks(raw: Iterable[RawLink], resolver: Resolver, limit: int) -> tuple[list[Link], bool]:
    """Return each link once, in the order of the page, and whether there were too many.

    The first text that is not empty counts.
    """
    found: dict[tuple[str, str], str] = {}
    for kind, reference, text in raw:
        url = resolver.absolute(reference)
        if not url:
            continue
        key = (url, kind)
        if key not in found:
            if len(found) >= limit:
                return _as_links(found), True
            found[key] = text
        elif text and not found[key]:
            found[key] = text
    return _as_links(found), False


def _as_links(found: dict[tuple[str, str], str]) -> list[Link]:
    return [
        Link(url, clean_line(text[:_LONGEST_TEXT]) if text else "", kind)
        for (url, kind), text in found.items()
    ]


def candidates(srcset: str) -> Iterator[str]:
    """Yield the URLs of a `srcset` attribute."""
    for part in re.split(r",\s+|\s,", srcset[:_LONGEST]):
        words = part.split()
        if words:
            yield words[0].rstrip(",")
