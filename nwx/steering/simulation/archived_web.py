"""The web of an archive: its pages and links, with the scores of their analysis."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.captures import is_page
from nwx.engine.base import Engine
from nwx.errors import UrlError
from nwx.model import Capture
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.page_view import PageView
from nwx.steering.running.pages import StoredPages
from nwx.steering.simulation.crawl_orders import BLACKLISTED, UNSCORED, GraphPage
from nwx.steering.specifications.link_rules import LinkRules
from nwx.steering.specifications.specification import LinkRule, RuleAction
from nwx.values.urlkeys import urlkey
from nwx.values.urls import FRAME, NAVIGATIONAL, present_kind

_MOST_REDIRECTS = 10
_MOST_VERSIONS = 100
"""The newest versions of a URL among which its page is looked for."""

_OK, _REDIRECTION, _ERROR = 200, 300, 400
_FIRST, _BEHIND_ALL = "", "\U0010ffff"
_SHOWN_EVERY = 4_096


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page: the location of its record and the timestamp of its newest capture.

    `capture` has the payload; it is an older one if the newest is a revisit.
    """

    capture: Capture
    timestamp: str


class ArchivedWeb:
    """The pages of a collection, numbered in the order of their urlkeys, and the redirects."""

    def __init__(self, pages: Iterable[ArchivedPage], redirects: dict[str, str]) -> None:
        self.pages = tuple(pages)
        self._numbers = {page.capture.urlkey: number for number, page in enumerate(self.pages)}
        self._redirects = redirects

    def page_at(self, url: str) -> int | None:
        """Return the number of the page a URL leads to through redirects, or None if no page."""
        for _ in range(_MOST_REDIRECTS):
            try:
                key = urlkey(url)
            except UrlError:
                return None
            if key in self._numbers:
                return self._numbers[key]
            url = self._redirects.get(key, "")
            if not url:
                return None
        return None


def archived_web(
    engine: Engine, collection: str, progress: ShowProgress = no_progress
) -> ArchivedWeb:
    """Return the web of a collection, "" is all of the archive."""
    pages: list[ArchivedPage] = []
    redirects: dict[str, str] = {}
    captures = _shown(engine.captures(_FIRST, _BEHIND_ALL), progress)
    for key, versions in groupby(captures, key=lambda one: one.urlkey):
        newest = _Newest(collection)
        for capture in versions:
            newest.add(capture)
        if page := newest.page():
            pages.append(page)
        elif newest.redirect:
            redirects[key] = newest.redirect
    return ArchivedWeb(pages, redirects)


class _Newest:
    """The newest page among the captures of a urlkey, which come in order."""

    def __init__(self, collection: str) -> None:
        self._collection = collection
        self._payloads: dict[str, Capture] = {}
        self._pages: dict[str, str] = {}
        self.redirect = ""

    def add(self, capture: Capture) -> None:
        """Take the next capture."""
        status = capture.status_code or _OK
        if is_page(capture):
            self._payloads[capture.document_id] = capture
            if len(self._payloads) > _MOST_VERSIONS:
                del self._payloads[next(iter(self._payloads))]
        if self._collection not in ("", capture.collection) or not capture.document_id:
            return
        if status < _REDIRECTION:
            self._pages.pop(capture.document_id, None)
            self._pages[capture.document_id] = capture.timestamp
            if len(self._pages) > _MOST_VERSIONS:
                del self._pages[next(iter(self._pages))]
        elif status < _ERROR and capture.redirect_to:
            self.redirect = capture.redirect_to

    def page(self) -> ArchivedPage | None:
        """Return the newest page with a payload, or None."""
        for id, timestamp in reversed(self._pages.items()):
            if id in self._payloads:
                return ArchivedPage(self._payloads[id], timestamp)
        return None


def _shown(captures: Iterable[Capture], progress: ShowProgress) -> Iterator[Capture]:
    for number, capture in enumerate(captures):
        if number % _SHOWN_EVERY == 0:
            progress(WorkProgress("reading captures", number))
        yield capture


_FOLLOWED = NAVIGATIONAL | {FRAME}
_NOTHING = GraphPage(0.0, array("l"), array("d"))


class AnalysedWeb:
    """Analyser of the pages of a web, one by one, as a crawl does it.

    URLs that no `only` rule covers are outside every simulated crawl. `links` counts the links
    within the web.
    """

    def __init__(
        self, web: ArchivedWeb, stored: StoredPages, analyzer: Analyzer, rules: Sequence[LinkRule]
    ) -> None:
        self._web, self._stored, self._analyzer = web, stored, analyzer
        self._scope = LinkRules([rule for rule in rules if rule.action is RuleAction.ONLY])
        self.links = 0

    def analyse(self, number: int) -> GraphPage:
        """Return the score and links of a page; an unreadable page has score 0 and no links."""
        page = self._web.pages[number]
        try:
            view = self._stored.view(page.capture, page.timestamp)
            if view is None:
                return _NOTHING
            scores = self._analyzer.analyse(view, page.capture.document_id)
        except MemoryError:
            self._stored.counts.unreadable += 1
            return _NOTHING
        relevances = dict.fromkeys(self._targets(number, view), UNSCORED)
        for link in scores.links:
            target = self._web.page_at(link.url)
            if target not in relevances:
                continue
            if link.relevance is not None:
                relevances[target] = link.relevance
            elif self._is_its_own(link.url, self._web.pages[target]):
                relevances[target] = BLACKLISTED
        self.links += len(relevances)
        return GraphPage(scores.score, array("l", relevances), array("d", relevances.values()))

    def within(self, url: str) -> bool:
        """Return whether a URL is not outside the crawl."""
        return not self._scope.verdict(url).outside

    def _targets(self, number: int, view: PageView) -> Iterator[int]:
        for link in view.links:
            if present_kind(link.kind) in _FOLLOWED and self.within(link.url):
                target = self._web.page_at(link.url)
                if target is not None and target != number:
                    yield target

    def _is_its_own(self, url: str, page: ArchivedPage) -> bool:
        """Return whether a URL is the page's own and not only a redirect to it.

        A page can be fetched by its own URL even if a redirecting URL is blacklisted.
        """
        try:
            return urlkey(url) == page.capture.urlkey
        except UrlError:
            return False


def seeds_within(web: ArchivedWeb, seeds: Sequence[str]) -> tuple[list[int], list[str]]:
    """Return the pages that seeds lead to, each once, and the seeds that lead to none."""
    found: dict[int, None] = {}
    missing = []
    for seed in seeds:
        page = web.page_at(seed)
        if page is None:
            missing.append(seed)
        else:
            found[page] = None
    return list(found), missing
