"""The harvest of a crawl as it goes."""

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.steering.comparison.harvest import crawl_harvest
from nwx.steering.specifications.specification import CrawlSpecification

SPECIFICATION = CrawlSpecification("floods")


def page(path: str, score: float, *links: LinkScore) -> DocumentScore:
    url = f"http://a.example{path}"
    return DocumentScore(
        "floods", "v", path or "0", url, f"2020010100{len(path):04}", score, links=links
    )


def test_steered_is_compared_with_the_order_in_which_links_were_found(engine: Engine) -> None:
    """Of 20 links the four best lead to the subject, and one in four of the others followed."""
    links = [LinkScore(f"http://a.example/dull/{n}", 0.2) for n in range(16)]
    links += [LinkScore(f"http://a.example/flood/{n}", 0.8) for n in range(4)]
    pages = [page("", 0.0, *links), *(page(f"/flood/{n}", 0.5) for n in range(4))]
    pages += [page("/dull/0", 0.5), *(page(f"/dull/{n}", 0.0) for n in (1, 2, 3))]
    engine.crawl_index().put_scores(pages)
    harvest = crawl_harvest(engine.crawl_index(), SPECIFICATION)
    assert (harvest.pages, harvest.relevant) == (9, 5)
    assert harvest.breadth_first == pytest.approx(0.25)
    assert [one.host for one in harvest.hosts] == ["a.example"]
    weights = dict(harvest.learned)
    assert weights["url flood"] > weights["url dull"]


def test_without_pages_nothing_is_told(engine: Engine) -> None:
    harvest = crawl_harvest(engine.crawl_index(), SPECIFICATION)
    assert (harvest.pages, harvest.share, harvest.breadth_first) == (0, 0, None)
