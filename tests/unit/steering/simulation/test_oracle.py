from itertools import islice
from random import Random

from nwx.steering.simulation.crawl_orders import CrawlLimits, best_first, breadth_first
from nwx.steering.simulation.oracle import oracle_order
from tests.unit.steering.simulation.graphs import graph


def test_the_oracle_goes_the_shortest_way_to_relevant_pages() -> None:
    web = graph({0: {1: 0, 2: 0, 3: 0}, 3: {4: 0}, 4: {5: 0}, 2: {6: 0}}, {6: 1.0, 5: 1.0})
    assert list(oracle_order(web, [0])) == [0, 2, 6, 3, 4, 5, 1]


def test_relevant_pages_that_are_known_come_first() -> None:
    web = graph({0: {1: 0, 2: 0}, 2: {3: 0}}, {2: 1.0, 3: 1.0})
    assert list(oracle_order(web, [0])) == [0, 2, 3, 1]


def test_relevant_pages_out_of_reach_do_not_hold_it_up() -> None:
    web = graph({0: {2: 0, 1: 0}, 2: {4: 0}, 1: {3: 0}}, {4: 1.0, 3: 1.0})
    assert set(oracle_order(web, [0], CrawlLimits(pages_per_host=1))) == {0, 1}
    assert set(oracle_order(web, [0], CrawlLimits(depth=1))) == {0, 1, 2}


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
