from array import array
from itertools import islice
from random import Random

from nwx.steering.comparison.crawl_orders import (
    GraphPage,
    PageGraph,
    best_first,
    breadth_first,
    oracle_order,
)
from nwx.steering.specifications.specification import Limits
from tests.unit.steering.comparison.graphs import BLACKLISTED, graph


def test_a_page_is_analysed_once() -> None:
    asked = []

    def analyse(number: int) -> GraphPage:
        asked.append(number)
        return GraphPage(0.5, array("l"), array("d"))

    web = PageGraph(["a.org", "b.org"], analyse, 0.5)
    assert web.is_relevant(1)
    assert web.page(1) is web.page(1)
    assert (len(web), asked) == (2, [1])


def test_breadth_first_fetches_pages_as_they_are_found() -> None:
    web = graph({0: {3: 0.1, 1: 0.9}, 3: {2: 1, 0: 1}, 1: {4: 1}}, {})
    assert list(breadth_first(web, [0, 0])) == [0, 3, 1, 2, 4]


def test_breadth_first_keeps_limits() -> None:
    web = graph({0: {1: 1, 2: 1}, 2: {4: 1}, 4: {6: 1}}, {})
    assert list(breadth_first(web, [0], Limits(depth=1))) == [0, 1, 2]
    assert list(breadth_first(web, [0], Limits(pages_per_host=2))) == [0, 1, 2]


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
    assert list(best_first(web, [0], Limits(depth=2))) == [0, 1, 3, 2]
    assert list(best_first(web, [0], Limits(pages_per_host=1))) == [0, 1]


def test_the_oracle_goes_the_shortest_way_to_relevant_pages() -> None:
    web = graph({0: {1: 0, 2: 0, 3: 0}, 3: {4: 0}, 4: {5: 0}, 2: {6: 0}}, {6: 1.0, 5: 1.0})
    assert list(oracle_order(web, [0])) == [0, 2, 6, 3, 4, 5, 1]


def test_relevant_pages_that_are_known_come_first() -> None:
    web = graph({0: {1: 0, 2: 0}, 2: {3: 0}}, {2: 1.0, 3: 1.0})
    assert list(oracle_order(web, [0])) == [0, 2, 3, 1]


def test_relevant_pages_out_of_reach_do_not_hold_it_up() -> None:
    web = graph({0: {2: 0, 1: 0}, 2: {4: 0}, 1: {3: 0}}, {4: 1.0, 3: 1.0})
    assert set(oracle_order(web, [0], Limits(pages_per_host=1))) == {0, 1}
    assert set(oracle_order(web, [0], Limits(depth=1))) == {0, 1, 2}


def test_the_oracle_is_seldom_beaten_and_fetches_all_that_others_do() -> None:
    chance = Random(3)
    better = 0
    for _ in range(100):
        links = {
            page: {chance.randrange(40): chance.random() for _ in range(3)} for page in range(40)
        }
        web = graph(links, {page: float(chance.random() > 0.8) for page in range(40)})
        orders = [list(order(web, [0])) for order in (oracle_order, breadth_first, best_first)]
        assert len({frozenset(order) for order in orders}) == 1
        oracle, *others = (sum(map(web.is_relevant, islice(order, 12))) for order in orders)
        better += oracle >= max(others)
    assert better >= 98
