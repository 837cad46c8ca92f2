"""Processor time of the analysis of a page for steering, compared with regular expressions.

Pages have 1,000 words and 100 links. The specification has 100 keywords and
100 entities, then 10,000 entities. The peer searches for the same terms with
one Python expression of alternatives, in the text and near each link, on the
same view of a page: no lemmas, no accents, no roles, no traps. The best of
several alternate rounds counts, in processor time.

    python -m benchmarks.steering_analysis                    # on generated pages
    python -m benchmarks.steering_analysis FILE.warc.gz …     # on the HTML of these
"""

import argparse
import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.corpus import Words
from benchmarks.extraction import archived_pages
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.analysis.page_view import PageView, page_view
from nwx.steering.specifications.specification import CrawlSpecification, Entity, Keyword

WORDS, LINKS = 1_000, 100
ENTITIES = (100, 10_000)
KEYWORDS = 100
URL = "http://site.example/a/b.html"
TIMESTAMP = "20240101000000"
VOCABULARY = 20_000
COMMON = 1_000  # words that are not terms
NAMED = 8  # terms mentioned on each page

Captured = tuple[str, bytes, str]


def made_pages(
    count: int, words: Words, named: Sequence[str], source: random.Random
) -> list[Captured]:
    """Return pages with menus, paragraphs with links, and link lists in a margin."""
    return [(URL, _page(words, named, source).encode(), "utf-8") for _ in range(count)]


def _page(words: Words, named: Sequence[str], source: random.Random) -> str:
    def draw(count: int) -> str:
        drawn = words.draw(count, source)
        if source.random() < 0.3:
            drawn[0] = f"{drawn[0]}{source.randrange(10**6)}"  # a new word on each page
        return " ".join(drawn)

    menu = "".join(f'<li class="menu-item"><a href="/{draw(1)}/">{draw(1)}</a>' for _ in range(30))
    paragraphs = [
        f'{draw(10)} <a href="/{draw(1)}/{draw(3).replace(" ", "-")}.html">{draw(3)}</a> '
        f"{draw(10)}.{f'</p><h2>{draw(4)}</h2><p>' if nth % 8 == 0 else ''}"
        for nth in range(35)
    ]
    for name in source.sample(named, NAMED):
        paragraphs[source.randrange(35)] += f" {name} {draw(2)}"
    margin = "".join(
        f'<li><a href="http://{draw(1)}.example/{draw(1)}">{draw(2)}</a>' for _ in range(35)
    )
    return (
        f"<html lang=en><head><title>{draw(5)}</title></head><body class=page>"
        f"<nav class=main-nav><ul>{menu}</ul></nav><div id=content class=post><h1>{draw(5)}</h1>"
        f"<p>{'</p><p>'.join(paragraphs)}</p></div><aside class=sidebar><ul>{margin}</ul></aside>"
        "</body></html>"
    )


def made_specifications(words: Words, source: random.Random) -> dict[int, CrawlSpecification]:
    """Return specifications of less common words, by number of entities.

    The larger one includes the smaller one.
    """
    rare = words.words[COMMON:]
    keywords = tuple(
        Keyword(" ".join(source.sample(rare, source.choice((1, 1, 2))))) for _ in range(KEYWORDS)
    )
    names = tuple(
        Entity(" ".join(word.title() for word in source.sample(rare, 2)))
        for _ in range(max(ENTITIES))
    )
    return {
        count: CrawlSpecification("made", keywords=keywords, entities=names[:count])
        for count in ENTITIES
    }


class ExpressionPeer:
    """Analysis with one regular expression: terms in the text and near each link."""

    def __init__(self, specification: CrawlSpecification) -> None:
        terms = [keyword.text for keyword in specification.keywords]
        terms += [entity.name for entity in specification.entities]
        longest_first = sorted(map(re.escape, terms), key=len, reverse=True)
        self._terms = re.compile(rf"\b(?:{'|'.join(longest_first)})\b", re.IGNORECASE)

    def analyse(self, page: PageView) -> tuple[Counter[str], list[Counter[str]]]:
        """Return the counts of terms, in the text and near each link."""
        return self._count(page.content), [
            self._count(f"{link.text} {link.url} {link.heading} {link.around}")
            for link in page.links
        ]

    def _count(self, text: str) -> Counter[str]:
        return Counter(found.lower() for found in self._terms.findall(text))


def best_times(works: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the least processor seconds of each work, run alternately."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(rounds):
        for name, work in works.items():
            start = time.process_time()
            work()
            best[name] = min(best[name], time.process_time() - start)
    return best


def _views(pages: Sequence[Captured]) -> list[PageView]:
    return [page_view(data, url, TIMESTAMP, charset) for url, data, charset in pages]


def _works(
    pages: Sequence[Captured], specifications: dict[int, CrawlSpecification], peer_pages: int
) -> dict[str, Callable[[], object]]:
    views = _views(pages)
    works: dict[str, Callable[[], object]] = {"view": lambda: _views(pages)}
    for entities, specification in specifications.items():
        analyzer = Analyzer(specification, TermStatistics())
        peer = ExpressionPeer(specification)
        works[f"nwx {entities}"] = lambda one=analyzer: [one.analyse(v, "id") for v in views]
        works[f"peer {entities}"] = lambda one=peer: [one.analyse(v) for v in views[:peer_pages]]
    return works


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    source = random.Random(12)
    words = Words(VOCABULARY, source)
    specifications = made_specifications(words, source)
    first = specifications[ENTITIES[0]]
    named = [entity.name for entity in first.entities]
    named += [keyword.text for keyword in first.keywords]
    pages: list[Captured] = [
        (page.url, page.data, "") for page in archived_pages(options.files)
    ] or made_pages(options.pages, words, named, source)
    peer_pages = min(len(pages), 5)
    views = _views(pages)
    count = len(pages)
    print(
        f"{count} pages of {sum(len(v.content.split()) for v in views) / count:.0f} words"
        f" and {sum(len(v.links) for v in views) / count:.0f} links"
    )
    best = best_times(_works(pages, specifications, peer_pages), options.rounds)
    view = best["view"] / count * 1_000
    print(f"view of a page: {view:.2f} ms")
    least = 0.0
    for entities in ENTITIES:
        own = best[f"nwx {entities}"] / count * 1_000
        peer = best[f"peer {entities}"] / peer_pages * 1_000
        least = least or view + own
        print(
            f"{KEYWORDS} keywords, {entities} entities: analysis {own:.2f} ms, with the view"
            f" {view + own:.2f} ms ({(view + own) / least:.2f} times the least);"
            f" expressions {peer:.2f} ms, {peer / own:.1f} times the analysis"
        )


if __name__ == "__main__":
    main()
