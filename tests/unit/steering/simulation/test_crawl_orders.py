from nwx.steering.simulation.crawl_orders import CrawlLimits, best_first, breadth_first
from tests.unit.steering.simulation.graphs import BLACKLISTED, graph


def test_breadth_first_fetches_pages_as_they_are_found() -> None:
    web = graph({0: {3: 0.1, 1: 0.9}, 3: {2: 1, 0: 1}, 1: {4: 1}}, {})
    assert list(breadth_first(web, [0, 0])) == [0, 3, 1, 2, 4]


def test_breadth_first_keeps_limits() -> None:
    web = graph({0: {1: 1, 2: 1}, 2: {4: 1}, 4: {6: 1}}, {})
    assert list(breadth_first(web, [0], CrawlLimits(depth=1))) == [0, 1, 2]
    assert list(breadth_first(web, [0], CrawlLimits(pages_per_host=2))) == [0, 1, 2]


def test_the_highest_priority_comes_first_and_of_equal_ones_the_first_known() -> None:
    web = graph({0: {1: 0.2, 2: 0.7, 3: 0.7}, 2: {4: 0.9}}, {})
    assert list(best_first(web, [0])) == [0, 2, 4, 3, 1]


def test_the_most_relevant_link_to_a_page_counts() -> None:
    web = graph({0: {1: 0.9, 2: 0.8, 3: 0.7}, 1: {2: 0.1, 3: 0.85}}, {})
    assert list(best_first(web, [0])) == [0, 1, 3, 2]


def test_links_below_the_threshold_are_not_sent() -> None:
    web = graph({0: {1: 0.9, 2: 0.3, 3: 0.5}, 1: {3: 0.3}}, {})
    assert list(best_first(web, [0], follow=0.4)) == [0, 1, 3]


def test_what_was_blacklisted_once_is_never_fetched() -> None:
    web = graph({0: {1: 0.9, 2: 0.5}, 1: {2: BLACKLISTED, 3: 0.4}, 3: {2: 1.0}}, {})
    assert list(best_first(web, [0])) == [0, 1, 3]


def test_steered_crawls_keep_limits() -> None:
    web = graph({0: {1: 0.9, 2: 0.5}, 1: {3: 0.9}, 3: {5: 0.9}}, {})
    assert list(best_first(web, [0], CrawlLimits(depth=2))) == [0, 1, 3, 2]
    assert list(best_first(web, [0], CrawlLimits(pages_per_host=1))) == [0, 1]
