"""The analysis of a page by a specification: its score, and the relevance of its links."""

from collections import Counter
from collections.abc import Collection, Sequence

from nwx.engine.crawls.crawl_index import DocumentScore, LinkScore
from nwx.steering.analysis.dictionary_model import DictionaryModel
from nwx.steering.analysis.document_scorer import DocumentScorer
from nwx.steering.analysis.language_model import LanguageModel
from nwx.steering.analysis.link_roles import ROLE_WORTH, link_role
from nwx.steering.analysis.link_traps import trap_of
from nwx.steering.analysis.near_text import NearTerms, side_text
from nwx.steering.analysis.page_view import PageLink, PageView
from nwx.steering.analysis.relevance import LinkEvidence, relevance
from nwx.steering.analysis.term_matches import TermMatch, TermMatcher
from nwx.steering.analysis.term_statistics import TermStatistics
from nwx.steering.rules.link_rules import LinkRules, RuleVerdict
from nwx.steering.specifications.specification import CrawlSpecification

_NO_VERDICT = RuleVerdict()


class Analyzer:
    """What analyses pages by one version of a specification; one for a process.

    The first pages of each language take longer, as its dictionary is loaded.
    """

    def __init__(
        self,
        specification: CrawlSpecification,
        statistics: TermStatistics,
        language_model: LanguageModel | None = None,
    ) -> None:
        self._specification = specification
        self._version = specification.version()
        self._model = language_model or DictionaryModel()
        self._matcher = TermMatcher(specification)
        self._scorer = DocumentScorer(specification, statistics)
        self._rules = LinkRules(specification.rules) if specification.rules else None

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
        return DocumentScore(
            crawl=self._specification.name,
            version=self._version,
            document_id=document_id,
            url=page.url,
            timestamp=page.timestamp,
            score=score,
            links=tuple(self._links(page, score, matches, known)),
            entities=self._entities(matches),
        )

    def _entities(self, matches: Sequence[TermMatch]) -> tuple[tuple[str, int], ...]:
        """Return the entities of the specification that were found, most frequent first."""
        first = len(self._specification.keywords)
        counts = Counter(match.term - first for match in matches if match.term >= first)
        entities = self._specification.entities
        return tuple((entities[place].name, count) for place, count in counts.most_common())

    def _links(
        self, page: PageView, score: float, matches: Sequence[TermMatch], known: Collection[str]
    ) -> list[LinkScore]:
        text, places = side_text(page)
        reading = self._model.read(text, page.language)
        side_matches = self._matcher.matches(text, reading, page.language)
        near = NearTerms(page, matches, side_matches, places, self._scorer.strengths)
        best: dict[str, LinkScore] = {}
        for index, link in enumerate(page.links):
            if link.url == page.url:
                continue
            found = self._link(link, score, near.score(index), link.url not in known)
            before = best.get(link.url)
            if before is None or (before.relevance or 0.0) < (found.relevance or 0.0):
                best[link.url] = found
        return list(best.values())

    def _link(self, link: PageLink, score: float, near: float, is_new: bool) -> LinkScore:
        role = link_role(link)
        verdict = self._rules.verdict(link.url) if self._rules else _NO_VERDICT
        if verdict.blacklisted:
            return LinkScore(link.url, None, role, {}, verdict.rule)
        if trap := trap_of(link.url):
            return LinkScore(link.url, None, role, {}, f"trap: {trap}")
        if verdict.outside:
            return LinkScore(link.url, 0.0, role, {}, verdict.rule)
        evidence = LinkEvidence(score, near, ROLE_WORTH[role], verdict.preferred, float(is_new))
        number, parts = relevance(
            evidence, self._specification.weights, self._specification.thresholds.relevant
        )
        return LinkScore(link.url, number, role, parts, verdict.rule)
