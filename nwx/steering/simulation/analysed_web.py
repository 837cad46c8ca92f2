"""The graph of a web under a specification: pages analysed as they would be in a real crawl."""

from array import array
from collections.abc import Iterator, Sequence

from nwx.errors import UrlError
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.page_view import PageView
from nwx.steering.rules.link_rules import LinkRules
from nwx.steering.simulation.archived_web import ArchivedPage, ArchivedWeb
from nwx.steering.simulation.page_graph import BLACKLISTED, UNSCORED, GraphPage
from nwx.steering.simulation.stored_pages import StoredPages
from nwx.steering.specifications.specification import LinkRule, RuleAction
from nwx.values.link_kinds import FRAME, NAVIGATIONAL, present_kind
from nwx.values.urlkeys import urlkey

_FOLLOWED = NAVIGATIONAL | {FRAME}
_NOTHING = GraphPage(0.0, array("l"), array("d"))


class AnalysedWeb:
    """Analyses the pages of a web one by one, as those of a crawl are.

    What none of the rules `only` covers is outside the crawl, whoever
    crawls. `links` counts the links within the web.
    """

    def __init__(
        self, web: ArchivedWeb, stored: StoredPages, analyzer: Analyzer, rules: Sequence[LinkRule]
    ) -> None:
        self._web, self._stored, self._analyzer = web, stored, analyzer
        self._scope = LinkRules([rule for rule in rules if rule.action is RuleAction.ONLY])
        self.links = 0

    def analyse(self, number: int) -> GraphPage:
        """Return what a crawler learns from a page; an unreadable one has no links, and score 0."""
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
        """Return whether a URL is a page's own, and not one that only redirects to it.

        A page may be fetched by its own URL when another one is blacklisted.
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
