"""Look-up of captures for playback at nwx's CDX endpoint, by exact URL or with another query."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import requests
from pywb.utils.format import to_bool
from pywb.utils.wbexception import AccessException, NotFoundException
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.index.fuzzymatcher import FuzzyMatcher
from pywb.warcserver.index.indexsource import BaseIndexSource

from nwx.errors import UrlError
from nwx.quality.faults import is_volatile
from nwx.values.digests import is_payload
from nwx.values.timestamps import seconds_between
from nwx.values.urlkeys import method_prefix, urlkey
from webapp.replay.stored_records import file_key
from webapp.site.viewer import PASS_ENVIRON, PASS_HEADER, PlayerViewers

MOST_ALIKE = 1_000
"""The most captures with another query that are considered."""

_MOST_CHARACTERS = 1_000
"""The longest urlkey for fuzzy matching: pywb's regular expressions are slow on longer ones."""

_PAGES = ("text/html", "application/xhtml+xml")
_OPTIONS = "__pywb_method=options"


class OtherQueries(FuzzyMatcher):  # type: ignore[misc]
    """pywb's fuzzy matching of URLs with another query, bounded, the most similar first.

    pywb takes the first match in index order, whatever its time, and confuses
    pages with the same path.
    """

    def get_fuzzy_iter(
        self, cdx_iter: Iterable[CDXObject], index_source: Any, params: dict[str, Any]
    ) -> Iterator[CDXObject]:
        """Yield the captures of a URL or, if there are none, similar ones."""
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
        """Return the rule for a URL and its index query, None without a rule."""
        found = super().get_fuzzy_match(urlkey, url, params) if _is_short(urlkey) else None
        if found is None:
            return None
        rule, asked = found
        return rule, asked | {"limit": str(MOST_ALIKE)}

    def match_general_fuzzy_query(
        self, url: str, urlkey: str, cdx: CDXObject, rx_cache: dict[str, str]
    ) -> bool:
        """Return whether a capture matches a URL by the rule for all sites."""
        if cdx.get("status") == "204" and _OPTIONS in cdx["urlkey"]:
            return False
        if self._is_file(url, cdx) and cdx["url"].partition("?")[0] == url.partition("?")[0]:
            return True
        return self._plain(urlkey, rx_cache) == self._plain(cdx["urlkey"], rx_cache)

    def _is_file(self, url: str, cdx: CDXObject) -> bool:
        """Return whether the query of a URL does not identify its content."""
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
        """Return a urlkey without the parameters that pywb's rules call volatile."""
        if urlkey not in known:
            plain = urlkey
            for expression, replacement in self.url_normalize_rx if _is_short(urlkey) else ():
                plain = re.sub(expression, replacement, plain)
            known[urlkey] = plain
        return known[urlkey]


def _is_short(urlkey: str) -> bool:
    return len(urlkey) <= _MOST_CHARACTERS


def _order(params: dict[str, Any]) -> Callable[[CDXObject], tuple[int, float]]:
    """Return the sort key of captures: most common query parameters, then nearest time."""
    own, closest = _parameters(params["url"]), params.get("closest")

    def order(cdx: CDXObject) -> tuple[int, float]:
        apart = seconds_between(cdx["timestamp"], closest) if closest else 0.0
        return -len(own & _parameters(cdx["url"])), apart

    return order


def _parameters(url: str) -> frozenset[str]:
    return frozenset(url.partition("?")[2].split("&"))


CLOSEST_LIMIT = 100
MOST_CAPTURES = 10_000
MOST_DIGESTS = 3
SECONDS = 30
TIMESTAMP_DIGITS = 14


class NwxIndex(BaseIndexSource):  # type: ignore[misc]
    """The captures of a URL, from the CDX endpoint of nwx.

    pywb's source for remote indices reports an outage as "not found" and
    expects unique file names; nwx needs neither.
    """

    viewers: ClassVar[PlayerViewers]
    """Identifies the viewers of requests; set before the source is used."""

    def __init__(self, address: str) -> None:
        self.address = address
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
        """Return the captures of the URL in the parameters, closest in time first."""
        asking = params.get("_input_req")
        told = {} if asking is None else asking.env
        headers = {
            PASS_HEADER: told.get(PASS_ENVIRON, "") or self.viewers.nobody(),
            "Accept-Language": told.get("HTTP_ACCEPT_LANGUAGE", "en"),
        }
        return CaptureLookup(self.session, self.address, headers).load_index(params)


MOST_BAR_CAPTURES = 3_000
_SHORT_SECONDS = 5


def bar_captures(session: requests.Session, address: str, url: str, asker: str) -> str:
    """Return the timestamps of a URL's captures for the bar, with "+" after changed content.

    One capture a day if there are more than MOST_BAR_CAPTURES; "" on an outage.
    """
    asked = {"url": url, "matchType": "exact", "output": "text", "fl": "timestamp,digest,url"}
    headers, found = {PASS_HEADER: asker}, list[str]()
    for more in ({}, {"collapse": "timestamp:8"}):
        limit = {"limit": str(MOST_BAR_CAPTURES + (not more))}
        try:
            answer = session.get(
                address, params=asked | more | limit, headers=headers, timeout=_SHORT_SECONDS
            )
        except requests.RequestException:
            return ""
        found = answer.text.splitlines() if answer.status_code == 200 else []
        if len(found) <= MOST_BAR_CAPTURES:
            break
    return " ".join(_marked(line.split(" ", 2) for line in found))


def _marked(rows: Iterable[list[str]]) -> Iterator[str]:
    last = dict[str, str]()  # by URL: a redirect from another spelling does not change the page
    for timestamp, digest, url in rows:
        yield timestamp + ("+" if last.setdefault(url, digest) != digest else "")
        last[url] = digest


class CaptureLookup:
    """Look-up of captures that one viewer, identified by `headers`, may see."""

    def __init__(self, session: requests.Session, address: str, headers: dict[str, str]) -> None:
        self.session, self.address, self.headers = session, address, headers
        self.root = address.rpartition("/")[0]

    def load_index(self, params: dict[str, Any]) -> Iterator[CDXObject]:
        """Return the captures of the URL in the parameters, closest in time first."""
        match = params.get("matchType", "exact")
        if match == "prefix":
            return iter(self._with_other_queries(params["url"]))
        if match != "exact":
            raise NotFoundException(params.get("url"))
        url, closest = params.get("alt_url") or params["url"], params.get("closest", "")
        asked = [("url", url), ("matchType", "exact")]
        asked += [("closest", closest)] if closest else []
        captures = self._captures(asked, CLOSEST_LIMIT if closest else MOST_CAPTURES)
        by_get = url == params["url"]
        if by_get and not any(one["timestamp"] == closest for one in captures):
            captures = self._answers_to_bodies(url, closest, any_time=not captures) or captures
        if not captures and by_get and (words := self._refusal(url)):
            return _refused(words, url)
        # With a filter, pywb looks for the original of a revisit, which must not be a revisit.
        if params.get("filter"):
            return iter(captures)
        return iter(self._resolved_elsewhere(_resolved(captures), bool(params.get("closest"))))

    def _refusal(self, url: str) -> str:
        """Return why a URL may not be shown, "" if it may."""
        address = f"{self.root}/replay-refusal"
        answer = self.session.get(
            address, params={"url": url}, headers=self.headers, timeout=SECONDS
        )
        return answer.text.strip() if answer.status_code == 451 else ""

    def _captures(self, asked: list[tuple[str, str]], limit: int) -> list[CDXObject]:
        """Return the captures that the CDX endpoint finds."""
        asked = [*asked, ("withOriginals", "true"), ("limit", str(limit))]
        answer = self.session.get(self.address, params=asked, headers=self.headers, timeout=SECONDS)
        if answer.status_code == 400:
            raise NotFoundException(answer.text)
        if answer.status_code != 200:
            raise ConnectionError(answer.text.strip())
        return [_located(CDXObject(line)) for line in answer.content.splitlines() if line]

    def _with_other_queries(self, url: str) -> list[CDXObject]:
        """Return captures of a URL with any query, for a URL without captures.

        `OtherQueries` chooses among them.
        """
        try:
            key = urlkey(url.rstrip("?"))
        except UrlError:
            return []
        bare = self._captures([("urlkey", key), ("matchType", "exact")], CLOSEST_LIMIT)
        alike = [("urlkey", f"{key}?"), ("matchType", "prefix")]
        return [*bare, *self._captures(alike, MOST_ALIKE - len(bare))]

    def _answers_to_bodies(self, url: str, closest: str, *, any_time: bool) -> list[CDXObject]:
        """Return the captures of requests with a body (POST, PUT) to a URL, closest first.

        Readers request the plain URL: method and body are in the urlkey only.
        Captures have the timestamp `closest`; if none has, `any_time` returns
        all of them.
        """
        try:
            prefix = method_prefix(urlkey(url))
        except UrlError:
            return []
        asked = [("urlkey", prefix), ("matchType", "prefix"), ("filter", f"=url:{url}")]
        found: list[CDXObject] = []
        if len(closest) == TIMESTAMP_DIGITS:
            found = self._captures([*asked, ("filter", f"=timestamp:{closest}")], CLOSEST_LIMIT)
        if not found and any_time:
            found = self._captures(asked, MOST_CAPTURES)
        return sorted(found, key=lambda one: seconds_between(one["timestamp"], closest))

    def _resolved_elsewhere(self, captures: list[CDXObject], wanted: bool) -> list[CDXObject]:
        """Return captures with originals at other URLs for the first revisits without one.

        pywb only finds originals that the revisit record names by URL and
        date; this finds any capture with the payload.
        """
        lone = [one for one in captures if one.is_revisit() and _has_payload(one)] if wanted else []
        digests = list(dict.fromkeys(capture.get("digest", "") for capture in lone))
        for digest in filter(None, digests[:MOST_DIGESTS]):
            original = self._held(digest)
            for capture in lone:
                if original and capture.get("digest") == digest:
                    _refer(capture, original)
        return captures

    def _held(self, digest: str) -> CDXObject | None:
        """Return a capture of a payload, of any URL, whose file is readable, or None."""
        asked = {"digest": digest, "there": "1"}
        answer = self.session.get(
            f"{self.root}/dedup", params=asked, headers=self.headers, timeout=SECONDS
        )
        if answer.status_code == 400:
            return None  # an unknown kind of digest
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


def _has_payload(revisit: CDXObject) -> bool:
    """Return whether the digest of a revisit is that of its payload.

    For "not modified", crawlers store that of the empty body that they got.
    """
    return is_payload(revisit.get("digest", "")) or revisit.get("status", "-") not in ("-", "304")


def _refused(words: str, url: str) -> Iterator[CDXObject]:
    """Raise AccessException when iterated: pywb reports it as neither outage nor not found."""
    raise AccessException({"message": words}, url)
    yield


def _located(cdx: CDXObject) -> CDXObject:
    """Return a capture with its file name as in the path index, collection first."""
    cdx["filename"] = file_key(cdx["collection"], cdx["filename"])
    return cdx


def _resolved(captures: list[CDXObject]) -> list[CDXObject]:
    """Return captures with the place of the original in each revisit, if it is among them.

    Like pywb's `cdx_resolve_revisits`, which needs the original to come first.
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
