"""Analysis of a page by a specification: its score, and the relevance of its links."""

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import unquote

from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.steering.analysis.document_scorer import (
    DocumentScorer,
    TermMatch,
    TermMatcher,
    TermStatistics,
    is_stuffed,
)
from nwx.steering.analysis.language_models import DictionaryModel
from nwx.steering.analysis.link_classifier import (
    LinkAddress,
    LinkClassifier,
    LinkRole,
    LinkRoles,
    link_address,
)
from nwx.steering.analysis.link_learner import anchor_words
from nwx.steering.analysis.names import LanguageModel, TextReading
from nwx.steering.analysis.page_view import PageLink, PageView
from nwx.steering.analysis.site_types import SiteType, site_type
from nwx.steering.specifications.specification import CrawlSpecification, ScoreWeights

ROLE_WORTH = {
    LinkRole.CONTENT: 1.0,
    LinkRole.PAGINATION: 0.6,
    LinkRole.NAVIGATION: 0.4,
    LinkRole.COMMENT: 0.2,
    LinkRole.CALENDAR: 0.1,
    LinkRole.ADVERTISEMENT: 0.0,
    LinkRole.LOGIN: 0.0,
    LinkRole.ACTION: 0.0,
}
"""The value of each role in the relevance of a link."""

ROLE_FACTOR = {LinkRole.ADVERTISEMENT: 0.25, LinkRole.LOGIN: 0.1, LinkRole.ACTION: 0.1}
"""Factor on the other parts of a relevance for roles that do not lead to pages on a subject."""

ANCHOR, LINE, HEADING, AROUND = 1.0, 0.6, 0.4, 0.25
"""Weight of a term in the anchor or URL, the same line, the heading above, the text around."""

_LIKELY = 2.0  # times the threshold of relevant pages: document score that counts in full
_DIGITS = 6


def near_score(strengths: Iterable[float]) -> float:
    """Return the score of the text near a link, in [0, 1).

    `strengths` are the strengths of the terms found, multiplied by a factor for their position: one
    of mean weight in the anchor gives 0.63, two 0.86.
    """
    total = math.fsum(strengths)
    return 1 - math.exp(-total) if total > 0 else 0.0


class LinkEvidence(NamedTuple):
    """The evidence on a link: the score of the text near it in [0, 1], its role, and flags.

    `preferred` is whether a rule prefers it, `new` whether the URL is not captured yet.
    """

    near: float
    role: LinkRole
    preferred: bool = False
    new: bool = True


class RelevanceFormula:
    """The relevance of the links of one page.

    Each part is a value in [0, 1] times its share of the weights. `score` is the page's score,
    `relevant` the threshold from which a page is relevant.
    """

    def __init__(self, weights: ScoreWeights, relevant: float, score: float) -> None:
        total = weights.document + weights.near + weights.role + weights.preferred + weights.novelty
        share = 1 / total if total > 0 else 0.0
        likely = _LIKELY * relevant
        document = min(1.0, score / likely) if likely > 0 else 1.0
        self._document = round(weights.document * share * document, _DIGITS)
        self._near = weights.near * share
        self._role = weights.role * share
        self._preferred = round(weights.preferred * share, _DIGITS)
        self._novelty = round(weights.novelty * share, _DIGITS)

    def relevance(self, evidence: LinkEvidence) -> tuple[float, dict[str, float]]:
        """Return the relevance of a link, in [0, 1], and its parts, which add up to it."""
        factor = ROLE_FACTOR.get(evidence.role, 1.0)
        document = round(self._document * factor, _DIGITS)
        near = round(self._near * evidence.near * factor, _DIGITS)
        role = round(self._role * ROLE_WORTH[evidence.role], _DIGITS)
        preferred = self._preferred if evidence.preferred else 0.0
        novelty = round(self._novelty * factor, _DIGITS) if evidence.new else 0.0
        total = round(document + near + role + preferred + novelty, _DIGITS)
        parts = {
            "document": document,
            "near": near,
            "role": role,
            "preferred": preferred,
            "novelty": novelty,
        }
        return min(1.0, total), parts


_SEPARATORS = re.compile(r"[-_./?&=+:;,~|]+")
_LONGEST_URL = 300
# Parameters that hold the URL of another page, such as the one to return to after a login.
_OTHER_PAGE = re.compile(
    r"(?<=[?&;])(?:next|return_?(?:to|url)?|redirect(?:_?(?:to|ur[il]))?|ur[il]|goto|back(?:_?url)?"
    r"|dest(?:ination)?|continue|ref(?:err?er)?|came_from|service)=[^&;#]*",
    re.IGNORECASE,
)


def text_without(content: str, links: Iterable[PageLink]) -> str:
    """Return a text with the anchors of `links`, in text order, replaced by blanks."""
    pieces = []
    done = 0
    for link in links:
        if link.place >= done and link.text:
            end = min(link.place + len(link.text), len(content))
            pieces += [content[done : link.place], " " * (end - link.place)]
            done = end
    return "".join([*pieces, content[done:]]) if pieces else content


class SideText(NamedTuple):
    """The parts of a page to read in addition to its text.

    Each link has a line with the words of its URL, and of its anchor if that is not part of the
    text; then each heading has a line. `places` are the starts of the lines and the end of the last
    one; `headings` maps headings to line indices.
    """

    text: str
    places: Sequence[int]
    headings: Mapping[str, int]


def side_text(page: PageView, apart: Sequence[bool]) -> SideText:
    """Return the side text of a page, with the anchors of links where `apart` is True."""
    host = _host(page.url)
    lines = []
    headings: dict[str, int] = {}
    for link, is_apart in zip(page.links, apart, strict=True):
        words = words_of_url(link.url, host)
        lines.append(f"{words} . {link.text}\n" if is_apart else f"{words}\n")
        headings.setdefault(link.heading, len(page.links) + len(headings))
    lines += [f"{heading}\n" for heading in headings]
    return SideText("".join(lines), list(accumulate(map(len, lines), initial=0)), headings)


def words_of_url(url: str, host: str) -> str:
    """Return the words of a URL without `host` and without URLs of other pages in the query."""
    rest = url[:_LONGEST_URL].partition("://")[2]
    if "=" in rest:
        rest = _OTHER_PAGE.sub("", rest)
    if rest.startswith(host):
        rest = rest[len(host) :]
    if "%" in rest:
        rest = unquote(rest).replace("\n", " ")
    return _SEPARATORS.sub(" ", rest)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


class NearTerms:
    """The terms of a page by position, queried for each link.

    `matches` are in the text of the page, `side_matches` in its side text.
    """

    def __init__(
        self,
        page: PageView,
        matches: Sequence[TermMatch],
        side: SideText,
        side_matches: Sequence[TermMatch],
        strengths: Sequence[float],
    ) -> None:
        self._page = page
        self._matches = matches
        self._starts = [match.start for match in matches]
        self._lines: defaultdict[int, list[int]] = defaultdict(list)
        for match in side_matches:
            self._lines[bisect_right(side.places, match.start) - 1].append(match.term)
        self._headings = {
            heading: self._lines[line]
            for heading, line in side.headings.items()
            if line in self._lines
        }
        self._strengths = strengths

    def score(self, index: int) -> float:
        """Return the score of the text near the link at an index, in [0, 1)."""
        found: dict[int, float] = {}
        link = self._page.links[index]
        if link.heading in self._headings:
            found = dict.fromkeys(self._headings[link.heading], HEADING)
        if index in self._lines:
            found |= dict.fromkeys(self._lines[index], ANCHOR)
        if link.start >= 0 and self._starts:
            self._add_content(link, found)
        if not found:
            return 0.0
        return near_score([self._strengths[term] * near for term, near in found.items()])

    def _add_content(self, link: PageLink, found: dict[int, float]) -> None:
        first = bisect_left(self._starts, link.start)
        last = bisect_left(self._starts, link.end)
        if first == last:
            return
        end, line_start, line_end = self._line(link)
        for match in self._matches[first:last]:
            if match.end > link.end:
                continue
            if link.place <= match.start < end:
                near = ANCHOR
            elif line_start <= match.start and (line_end < 0 or match.start < line_end):
                near = LINE
            else:
                near = AROUND
            found[match.term] = max(found.get(match.term, 0.0), near)

    def _line(self, link: PageLink) -> tuple[int, int, int]:
        """Return the end of the anchor, and start and end of its line (-1: after `link.end`)."""
        if link.place < 0:
            return -1, link.end, link.end
        end = link.place + len(link.text)
        content = self._page.content
        line_start = content.rfind("\n", link.start, link.place) + 1 or link.start
        return end, line_start, content.find("\n", end, link.end)


_STUFFED = "its page is stuffed with the terms"


class _PlacedLink(NamedTuple):
    """A link with the parts of its URL, and its role on the page."""

    link: PageLink
    address: LinkAddress
    role: LinkRole


class Analyzer:
    """Analyses pages by one version of a specification; one per process.

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
        text, reading = self._read(page, links)
        matches = self._matcher.matches(text, reading, page.language)
        score = self._scorer.score(reading, matches)
        stuffed = is_stuffed(reading, matches)
        near = None if stuffed else self._near_terms(page, links, matches)
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

    def read(self, page: PageView) -> TextReading:
        """Return the words of a page without its menus."""
        return self._read(page, self._placed_links(page, site_type(page)))[1]

    def _read(self, page: PageView, links: Sequence[_PlacedLink]) -> tuple[str, TextReading]:
        # Menus are the same on every page of a site, whatever the page is about.
        menus = [placed.link for placed in links if placed.role is not LinkRole.CONTENT]
        text = text_without(page.content, menus)
        return text, self._model.read(text, page.language)

    def _formula(self, score: float) -> RelevanceFormula:
        weights, thresholds = self._specification.weights, self._specification.thresholds
        return RelevanceFormula(weights, thresholds.relevant, score)

    def _entities(self, matches: Sequence[TermMatch]) -> tuple[tuple[str, int], ...]:
        """Return the entities of the specification that were found, most frequent first."""
        first = len(self._specification.all_keywords)
        counts = Counter(match.term - first for match in matches if match.term >= first)
        entities = self._specification.entities
        return tuple((entities[place].name, count) for place, count in counts.most_common())

    def _placed_links(self, page: PageView, kind: SiteType) -> list[_PlacedLink]:
        own = link_address(page.url)
        found = []
        for link in page.links:
            address = link_address(link.url)
            found.append(_PlacedLink(link, address, self._roles.role_of(link, address, own, kind)))
        return found

    def _near_terms(
        self, page: PageView, links: Sequence[_PlacedLink], matches: Sequence[TermMatch]
    ) -> NearTerms:
        apart = [each.link.place < 0 or each.role is not LinkRole.CONTENT for each in links]
        side = side_text(page, apart)
        reading = self._dictionaries.read(side.text, page.language)  # URLs are not sentences
        side_matches = self._matcher.matches(side.text, reading, page.language)
        return NearTerms(page, matches, side, side_matches, self._scorer.strengths)

    def _links(
        self,
        page: PageView,
        links: Sequence[_PlacedLink],
        near: NearTerms | None,
        formula: RelevanceFormula,
        known: Collection[str],
    ) -> list[LinkScore]:
        """Return the scores of links; `near` is None for a page stuffed with terms."""
        best: dict[str, LinkScore] = {}
        for index, placed in enumerate(links):
            if placed.link.url == page.url:
                continue
            close = near.score(index) if near else 0.0
            for found in self._link(placed, page.timestamp, formula, close, known):
                if near is None and not found.reason:
                    found = found._replace(reason=_STUFFED)
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
        return [*scores, LinkScore(url, number, role, parts, reason, anchor_words(link.text))]


def _outweighs(score: LinkScore, other: LinkScore) -> bool:
    """Return whether a score of a URL replaces another: blacklisted wins, then the higher."""
    if other.relevance is None:
        return False
    return score.relevance is None or score.relevance > other.relevance
