"""The analysis of a page by a specification: its score, and the relevance of its links."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.steering.analysis.document_scorer import (
    DocumentScorer,
    TermMatch,
    TermMatcher,
    TermStatistics,
)
from nwx.steering.analysis.language_models import DictionaryModel
from nwx.steering.analysis.link_classifier import LinkClassifier
from nwx.steering.analysis.link_roles import LinkAddress, LinkRole, LinkRoles, link_address
from nwx.steering.analysis.names import LanguageModel
from nwx.steering.analysis.page_view import PageLink, PageView
from nwx.steering.analysis.relevance import (
    LinkEvidence,
    NearTerms,
    RelevanceFormula,
    side_text,
    text_without,
)
from nwx.steering.analysis.site_types import SiteType, site_type
from nwx.steering.specifications.specification import CrawlSpecification


class _PlacedLink(NamedTuple):
    """A link with the parts of its URL, and its role on the page."""

    link: PageLink
    address: LinkAddress
    role: LinkRole


class Analyzer:
    """The analyzer of pages for one version of a specification; one per process.

    `spam_hosts` are never followed (`read_spam_hosts`). The first pages of each language take
    longer, as its dictionary is loaded.
    """

    def __init__(
        self,
        specification: CrawlSpecification,
        statistics: TermStatistics,
        language_model: LanguageModel | None = None,
        spam_hosts: frozenset[str] = frozenset(),
    ) -> None:
        self._specification = specification
        self._version = specification.version()
        self._model = language_model or DictionaryModel()
        self._dictionaries = DictionaryModel()
        self._matcher = TermMatcher(specification)
        self._scorer = DocumentScorer(specification, statistics)
        self._classifier = LinkClassifier(specification, spam_hosts)
        self._roles = LinkRoles()

    def analyse(
        self, page: PageView, document_id: str, known: Collection[str] = ()
    ) -> DocumentScore:
        """Return the score of a page, and of each URL that it links to.

        `known` are the linked URLs that are already captured. Of several links to a URL, the most
        relevant counts.
        """
        kind = site_type(page)
        links = self._placed_links(page, kind)
        # What menus say is on every page of a site, whatever the page is about.
        menus = [placed.link for placed in links if placed.role is not LinkRole.CONTENT]
        text = text_without(page.content, menus)
        reading = self._model.read(text, page.language)
        matches = self._matcher.matches(text, reading, page.language)
        score = self._scorer.score(reading, matches)
        near = self._near_terms(page, links, matches)
        return DocumentScore(
            crawl=self._specification.name,
            version=self._version,
            document_id=document_id,
            url=page.url,
            timestamp=page.timestamp,
            score=score,
            site_type=kind,
            links=tuple(self._links(page, links, near, self._formula(score), known)),
            entities=self._entities(matches),
        )

    def _formula(self, score: float) -> RelevanceFormula:
        weights, thresholds = self._specification.weights, self._specification.thresholds
        return RelevanceFormula(weights, thresholds.relevant, score)

    def _entities(self, matches: Sequence[TermMatch]) -> tuple[tuple[str, int], ...]:
        """Return the entities of the specification that were found, most frequent first."""
        first = len(self._specification.keywords)
        counts = Counter(match.term - first for match in matches if match.term >= first)
        entities = self._specification.entities
        return tuple((entities[place].name, count) for place, count in counts.most_common())

    def _placed_links(self, page: PageView, kind: SiteType) -> list[_PlacedLink]:
        own = link_address(page.url)
        found = []
        for link in page.links:
            address = link_address(link.url)
            found.append(_PlacedLink(link, address, self._roles.of(link, address, own, kind)))
        return found

    def _near_terms(
        self, page: PageView, links: Sequence[_PlacedLink], matches: Sequence[TermMatch]
    ) -> NearTerms:
        apart = [each.link.place < 0 or each.role is not LinkRole.CONTENT for each in links]
        side = side_text(page, apart)
        reading = self._dictionaries.read(side.text, page.language)  # URLs are no sentences
        side_matches = self._matcher.matches(side.text, reading, page.language)
        return NearTerms(page, matches, side, side_matches, self._scorer.strengths)

    def _links(
        self,
        page: PageView,
        links: Sequence[_PlacedLink],
        near: NearTerms,
        formula: RelevanceFormula,
        known: Collection[str],
    ) -> list[LinkScore]:
        best: dict[str, LinkScore] = {}
        for index, placed in enumerate(links):
            if placed.link.url == page.url:
                continue
            for found in self._link(placed, page.timestamp, formula, near.score(index), known):
                before = best.get(found.url)
                if before is None or _outweighs(found, before):
                    best[found.url] = found
        return list(best.values())

    def _link(
        self,
        placed: _PlacedLink,
        timestamp: str,
        formula: RelevanceFormula,
        near: float,
        known: Collection[str],
    ) -> list[LinkScore]:
        """Return the score of a link, and that of its URL without a session id if it has one."""
        link, address, role = placed
        verdict = self._classifier.verdict(link.url, address, role, timestamp)
        scores = []
        if verdict.blacklisted:
            scores.append(LinkScore(link.url, None, role, {}, verdict.reason))
            if not verdict.address:
                return scores
        if verdict.outside:
            return [LinkScore(link.url, 0.0, role, {}, verdict.reason)]
        url = verdict.address or link.url
        is_new = link.url not in known and url not in known
        evidence = LinkEvidence(near, role, verdict.preferred, is_new)
        number, parts = formula.relevance(evidence)
        reason = "without its session id" if verdict.address else verdict.reason
        return [*scores, LinkScore(url, number, role, parts, reason)]


def _outweighs(score: LinkScore, other: LinkScore) -> bool:
    """Return whether a score of a URL counts instead of another: blacklisted before all else."""
    if other.relevance is None:
        return False
    return score.relevance is None or score.relevance > other.relevance
