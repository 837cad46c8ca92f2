"""Pages about stones, and misbehaving analyzers, controlled by URLs, for separate processes."""

import ctypes
import time
from collections.abc import Collection

from nwx.engine.indices.crawl_index import DocumentScore
from nwx.errors import FormatError
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.analysis.page_view import PageView
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    Keyword,
    LinkRule,
    RuleAction,
    ScoreWeights,
)
from tests.warcs import Page, html

HANG, CRASH, FAIL, REFUSE, HOARD = "hang", "crash", "fail", "refuse", "hoard"

STONES = CrawlSpecification(
    "stones",
    keywords=(Keyword("granite"),),
    rules=(LinkRule(RuleAction.BLACKLIST, hosts=("spam.example",)),),
    weights=ScoreWeights(novelty=0.0),
)
"""Its scores depend on the page alone, not on the rest of the archive."""


def page_about(words: str, path: str, links: Collection[str] = ()) -> Page:
    """Return a page with these words at the URL path `path`."""
    anchors = "".join(f'<p>Read on: <a href="{link}">more</a></p>' for link in links)
    body = html(path, f"{words} " * 20 + anchors)
    return Page(f"http://stones.example/{path}", "20150101000000", body)


def stone_pages(count: int, start: int = 0) -> list[Page]:
    """Return pages, every second one about granite; each links to others, and one to spam."""
    return [
        page_about(
            "granite and other stones" if number % 2 else "music and plays",
            str(number),
            [f"/{number + 1}", f"http://other.example/{number}", f"http://spam.example/{number}"],
        )
        for number in range(start, start + count)
    ]


class HostileAnalyzer:
    """Analyses pages, unless a URL says to hang, crash, use up memory, fail or refuse."""

    def __init__(self, specification: CrawlSpecification, statistics: TermStatistics) -> None:
        self._analyzer = Analyzer(specification, statistics)

    def analyse(self, page: PageView, document_id: str, known: Collection[str]) -> DocumentScore:
        """Analyse a page, or run the command in its URL."""
        match page.url.rpartition("/")[2]:
            case "hang":
                while True:
                    pass
            case "crash":
                ctypes.string_at(0)
            case "hoard":
                bytearray(1 << 40)
            case "fail":
                raise ValueError("a module's own fault")
            case "refuse":
                raise FormatError("this is no page")
        return self._analyzer.analyse(page, document_id, known)


def broken_analyzer(
    specification: CrawlSpecification, statistics: TermStatistics
) -> HostileAnalyzer:
    """Fail before the first page."""
    raise RuntimeError("no dictionary")


class CountingAnalyzer:
    """Scores each page by the number of documents in the statistics, 1 for a thousand."""

    def __init__(self, specification: CrawlSpecification, statistics: TermStatistics) -> None:
        self._crawl, self._version = specification.name, specification.version()
        self._score = statistics.documents / 1_000

    def analyse(self, page: PageView, document_id: str, known: Collection[str]) -> DocumentScore:
        """Return the same score for every page."""
        return DocumentScore(
            self._crawl, self._version, document_id, page.url, page.timestamp, self._score
        )


class SlowAnalyzer(HostileAnalyzer):
    """Analyses each page with a short delay."""

    def analyse(self, page: PageView, document_id: str, known: Collection[str]) -> DocumentScore:
        """Analyse a page after a delay."""
        time.sleep(0.1)
        return super().analyse(page, document_id, known)
