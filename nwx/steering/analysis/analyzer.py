"""The analysis of a page by a specification: its score, and the relevance of its links."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nwx.engine.crawls.crawl_index import DocumentScore, LinkScore
from nwx.steering.analysis.document_scorer import DocumentScorer
from nwx.steering.analysis.language.dictionary_model import DictionaryModel
from nwx.steering.analysis.language.language_model import LanguageModel
from nwx.steering.analysis.links.link_address import link_address
from nwx.steering.analysis.links.link_classifier import LinkClassifier
from nwx.steering.analysis.links.link_roles import LinkRoles
from nwx.steering.analysis.near_text import NearTerms, side_text
from nwx.steering.analysis.page_view import PageLink, PageView
from nwx.steering.analysis.relevance import LinkEvidence, RelevanceFormula
from nwx.steering.analysis.site_types import SiteType, site_type
from nwx.steering.analysis.term_matches import TermMatch, TermMatcher
from nwx.steering.analysis.term_statistics import TermStatistics
from nwx.steering.specifications.specification import CrawlSpecification


@dataclass(frozen=True, slots=True)
class _Site:
    """What is the same for all links of a page."""

    host: str
    timestamp: str
    kind: SiteType
    formula: RelevanceFormula


class Analyzer:
    """What analyses pages by one version of a specification; one for a process.

    `spam_hosts` are never followed (`read_spam_hosts`). The first pages of
    each language take longer, as its dictionary is loaded.
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
        self._matcher = TermMatcher(specification)
        self._scorer = DocumentScorer(specification, statistics)
        self._classifier = LinkClassifier(specification, spam_hosts)
        self._roles = LinkRoles()

    def analyse(
        self, page: PageView, document_id: str, known: Collection[str] = ()
    ) -> DocumentScore:
        """Return the score of a page, and that of each URL that it links to.

        `known` are those of these URLs that are captured already. Of several
        links to a URL the most relevant counts.
        """
        reading = self._model.read(page.content, page.language)
        matches = self._matcher.matches(page.content, reading, page.language)
        score = self._scorer.score(reading, matches)
        site = self._site(page, score)
        return DocumentScore(
            crawl=self._specification.name,
            version=self._version,
            document_id=document_id,
            url=page.url,
            timestamp=page.timestamp,
            score=score,
            site_type=site.kind,
            links=tuple(self._links(page, site, matches, known)),
            entities=self._entities(matches),
        )

    def _site(self, page: PageView, score: float) -> _Site:
        weights, thresholds = self._specification.weights, self._specification.thresholds
        formula = RelevanceFormula(weights, thresholds.relevant, score)
        return _Site(link_address(page.url).host, page.timestamp, site_type(page), formula)

    def _entities(self, matches: Sequence[TermMatch]) -> tuple[tuple[str, int], ...]:
        """Return the entities of the specification that were found, most frequent first."""
        first = len(self._specification.keywords)
        counts = Counter(match.term - first for match in matches if match.term >= first)
        entities = self._specification.entities
        return tuple((entities[place].name, count) for place, count in counts.most_common())

    def _links(
        self, page: PageView, site: _Site, matches: Sequence[TermMatch], known: Collection[str]
    ) -> list[LinkScore]:
        text, places = side_text(page)
        reading = self._model.read(text, page.language)
        side_matches = self._matcher.matches(text, reading, page.language)
        near = NearTerms(page, matches, side_matches, places, self._scorer.strengths)
        best: dict[str, LinkScore] = {}
        for index, link in enumerate(page.links):
            if link.url == page.url:
                continue
            for found in self._link(link, site, near.score(index), known):
                before = best.get(found.url)
                if before is None or _outweighs(found, before):
                    best[found.url] = found
        return list(best.values())

    def _link(
        self, link: PageLink, site: _Site, near: float, known: Collection[str]
    ) -> list[LinkScore]:
        """Return the score of a link, and that of its URL without a session id if it has one."""
        address = link_address(link.url)
        role = self._roles.of(link, address, site.host, site.kind)
        verdict = self._classifier.verdict(link.url, address, role, site.timestamp)
        scores = []
        if verdict.blacklisted:
            scores.append(LinkScore(link.url, None, role, {}, verdict.reason))
            if not verdict.address:
                return scores
        if verdict.outside:
            return [LinkScore(link.url, 0.0, role, {}, verdict.reason)]
        url = verdict.address or link.url
        evidence = LinkEvidence(near, role, verdict.preferred, url not in known)
        number, parts = site.formula.relevance(evidence)
        reason = "without its session id" if verdict.address else verdict.reason
        return [*scores, LinkScore(url, number, role, parts, reason)]


def _outweighs(score: LinkScore, other: LinkScore) -> bool:
    """Return whether a score of a URL counts instead of another: blacklisted before all else."""
    if other.relevance is None:
        return False
    return score.relevance is None or score.relevance > other.relevance
