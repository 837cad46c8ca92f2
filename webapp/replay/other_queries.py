"""Captures of the same file with another query, for a URL that has none with its own."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pywb.utils.format import to_bool
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.index.fuzzymatcher import FuzzyMatcher

from nwx.quality.playback.faults import is_volatile
from nwx.values.timestamps import seconds_between

MOST_ALIKE = 1_000
"""So many captures with another query are looked at."""

_MOST_CHARACTERS = 1_000
"""The longest urlkey for which others are looked for: pywb's expressions are slow on long ones."""

_PAGES = ("text/html", "application/xhtml+xml")
_OPTIONS = "__pywb_method=options"


class OtherQueries(FuzzyMatcher):  # type: ignore[misc]
    """pywb's rules of what is the same with another query, bounded, the most alike first.

    pywb takes the first in the order of the index, whenever that was
    captured, and takes a page for another one of the same path.
    """

    def get_fuzzy_iter(
        self, cdx_iter: Iterable[CDXObject], index_source: Any, params: dict[str, Any]
    ) -> Iterator[CDXObject]:
        """Yield the captures of a URL, where there are none those that are alike."""
        found = False
        for cdx in cdx_iter:
            found = True
            yield cdx
        if not found and to_bool(params.get("allowFuzzy", True)):
            alike = super().get_fuzzy_iter((), index_source, params)
            yield from sorted(alike, key=_order(params))

    def get_fuzzy_match(
        self, urlkey: str, url: str, params: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]] | None:
        """Return the rule for a URL and what it asks the index for, None where there is none."""
        found = super().get_fuzzy_match(urlkey, url, params) if _is_short(urlkey) else None
        if found is None:
            return None
        rule, asked = found
        return rule, asked | {"limit": str(MOST_ALIKE)}

    def match_general_fuzzy_query(
        self, url: str, urlkey: str, cdx: CDXObject, rx_cache: dict[str, str]
    ) -> bool:
        """Return whether a capture is the same as a URL by the rule for all sites."""
        if cdx.get("status") == "204" and _OPTIONS in cdx["urlkey"]:
            return False
        if self._is_file(url, cdx) and cdx["url"].partition("?")[0] == url.partition("?")[0]:
            return True
        return self._plain(urlkey, rx_cache) == self._plain(cdx["urlkey"], rx_cache)

    def _is_file(self, url: str, cdx: CDXObject) -> bool:
        """Return whether the query of a URL tells nothing of what it is."""
        mime = cdx.get("mime")
        if mime in _PAGES:
            return is_volatile(url, cdx["timestamp"])
        _, extension = self.get_ext(url)
        return bool(
            (extension and extension not in self.default_filters["not_exts"])
            or mime in self.default_filters["mimes"]
            or cdx.get("requestBody")
            or cdx.get("method")
        )

    def _plain(self, urlkey: str, known: dict[str, str]) -> str:
        """Return a urlkey without what pywb knows to differ each time."""
        if urlkey not in known:
            plain = urlkey
            for expression, replacement in self.url_normalize_rx if _is_short(urlkey) else ():
                plain = re.sub(expression, replacement, plain)
            known[urlkey] = plain
        return known[urlkey]


def _is_short(urlkey: str) -> bool:
    return len(urlkey) <= _MOST_CHARACTERS


def _order(params: dict[str, Any]) -> Callable[[CDXObject], tuple[int, float]]:
    """Return the order of captures: by what their queries have in common, then by time."""
    own, closest = _parameters(params["url"]), params.get("closest")

    def order(cdx: CDXObject) -> tuple[int, float]:
        apart = seconds_between(cdx["timestamp"], closest) if closest else 0.0
        return -len(own & _parameters(cdx["url"])), apart

    return order


def _parameters(url: str) -> frozenset[str]:
    return frozenset(url.partition("?")[2].split("&"))
