"""URLs fetched despite low priorities."""

from nwx.steering.analysis.exploration import EXPLORED, Exploration


def explored(priorities: list[float], gone: tuple[int, ...] = ()) -> list[int | None]:
    """Return the URLs explored after pages of these priorities."""
    exploration: Exploration[int] = Exploration()
    for url in range(10):
        exploration.find(url)
    found = []
    for priority in priorities:
        exploration.fetch(priority)
        found.append(exploration.next(lambda url: url not in gone))
    return found


def test_the_url_found_first_comes_after_four_pages() -> None:
    assert explored([0.2] * 8, gone=(0, 2)) == [None, None, None, 1, None, None, None, 3]


def test_nothing_is_explored_while_the_model_is_sure() -> None:
    assert explored([EXPLORED] * 5 + [0.2]) == [None] * 5 + [0]
