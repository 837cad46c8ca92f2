"""Learning which links lead to relevant pages, and exploration while nothing is learned."""

from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.steering.analysis.link_learner import (
    EXPLORED,
    Exploration,
    LinkFeatures,
    LinkLearner,
    anchor_words,
    link_features,
)


def link(path: str, anchor: str = "read more", relevance: float = 0.4) -> LinkScore:
    return LinkScore(f"http://a.example{path}", relevance, "content", words=anchor_words(anchor))


def features(path: str, anchor: str = "read more", page: str = "http://b.example/") -> LinkFeatures:
    return link_features(link(path, anchor), page)


def taught(**outcomes: float) -> LinkLearner:
    """Return a learner trained with eight pages per folder, with these document scores."""
    learner = LinkLearner(relevant=0.1)
    for number in range(8):
        for folder, score in outcomes.items():
            page = f"http://{folder}.example/"
            learner.learn(features(f"/{folder}/{number}", f"{folder} letter", page), score)
    return learner


def test_nothing_is_changed_before_a_page_is_known() -> None:
    assert LinkLearner(0.1).change(features("/a/1")) == 0


def test_words_folders_and_linking_pages_of_relevant_pages_gain() -> None:
    learner = taught(flood=0.3, sport=0.0)
    assert learner.change(features("/flood/9")) > 0 > learner.change(features("/sport/9"))
    by_anchor = [learner.change(features("/x/9", f"{word} report")) for word in ("flood", "sport")]
    assert by_anchor[0] > by_anchor[1]
    by_page = [
        learner.change(features("/x/9", page=f"http://{host}.example/"))
        for host in ("flood", "sport")
    ]
    assert by_page[0] > by_page[1]


def test_pages_gain_whose_names_begin_as_those_of_relevant_ones_do() -> None:
    learner = LinkLearner(relevant=0.1)
    for number in range(4):
        learner.learn(features(f"/flood-{number}.html"), 0.3)
        learner.learn(features(f"/sport{number}.html"), 0.0)
    kin, other = (f._replace(words=()) for f in (features("/flood.html"), features("/sport")))
    assert (kin.family, other.family) == ("a.example/flood", "a.example/sport")
    assert learner.change(kin) > learner.change(other)


def test_a_relevance_stays_within_bounds_and_in_order() -> None:
    learner = taught(flood=1.0, sport=0.0)
    for path in ("/flood/9", "/sport/9"):
        found = []
        for relevance in (0.0, 0.3, 0.6, 1.0):
            one = link_features(link(path, relevance=relevance), "http://b.example/")
            found.append(relevance + learner.change(one))
        assert found == sorted(found) and 0 < found[0] < found[-1] < 1


def test_a_later_run_learns_from_stored_scores() -> None:
    pages = [DocumentScore("c", "v", str(n), f"http://a.example/flood/{n}", "", 0.3) for n in "123"]
    links = tuple(link(f"/flood/{n}") for n in "123")
    start = DocumentScore("c", "v", "0", "http://a.example/", "", 0.0, links=links)
    learner = LinkLearner(0.1)
    learner.learn_stored([start, *pages])
    assert learner.pages == 3
    assert learner.change(features("/flood/4")) > 0
    [(host, relevant, fetched)] = learner.hosts(5)
    assert host == "a.example" and relevant == fetched > 2
    assert learner.strongest(1)[0][1] > 0


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
