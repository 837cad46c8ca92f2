"""Rankings order results in the same way on all engines."""

import pytest
from pytest import approx

from nwx.access.restricted_engine import RestrictedEngines
from nwx.answers.hits import Hits
from nwx.archive import Archive
from nwx.engine.access.rules import EVERYBODY
from nwx.engine.base import Engine
from nwx.errors import QueryError, UsageError
from nwx.query.question import Question
from nwx.query.rankings import Ranking
from nwx.query.tree import Bool, Term
from nwx.values.media_types import POOR_PAGES
from tests.conformance.archive import batch, page
from tests.conformance.asking import ask, names, search

NEW_ARCHIVES = True
"""Deleted entries would count in the statistics tested here."""

BOTH = Bool(must=(Term("", "silver"), Term("", "lamp")))
NEAR = page("http://example.org/near", "2010", "one silver lamp among many words of a long story")
APART = page(
    "http://example.org/apart", "2011", "a lamp, and far from it stood silver silver things"
)
TITLED = page("http://example.org/titled", "2012", "other words", title="Lamp")
IN_URL = page("http://example.org/lamp", "2013", "words of no weight", title="Other")
POOR = page("http://example.org/poor", "2014", "lamp lamp", title="Lamp", problems=POOR_PAGES[:1])
BATCHES = [batch([NEAR, APART, TITLED, IN_URL, POOR])]


def test_words_next_to_each_other_come_first(archive: Engine) -> None:
    found = search(archive, BOTH)
    assert names(found) == ["near", "apart"]
    assert names(search(archive, BOTH, ranking=Ranking(phrase=0.0))) == ["apart", "near"]
    scores = {hit.id: hit.score for hit in archive.scroll(Question(BOTH))}
    assert scores == approx({hit.id: hit.score for hit in found.hits})


def test_weights_of_fields_order_what_is_found(archive: Engine) -> None:
    lamp = Bool(must=(Term("", "lamp"),))
    titles = names(search(archive, lamp, ranking=Ranking(title=50.0)))
    urls = names(search(archive, lamp, ranking=Ranking(url=50.0)))
    assert (titles[0], urls[0]) == ("titled", "lamp")
    assert set(titles) == set(urls) == {"near", "apart", "titled", "lamp", "poor"}


def test_pages_that_tell_of_errors_come_last(archive: Engine) -> None:
    lamp = Term("", "lamp")
    assert names(search(archive, lamp))[-1] == "poor"
    assert names(search(archive, lamp, ranking=Ranking(below_pages=1.0)))[-1] != "poor"
    assert ask(archive, Term("content_type_norm", "files")) == {"poor"}


def test_most_words_are_enough_where_nothing_has_all(archive: Engine) -> None:
    words = tuple(Term("", word) for word in ("silver", "lamp", "unknown"))
    assert ask(archive, Bool(should=words, least=2)) == {"near", "apart"}
    asked = Question("silver lamp unknown", limit=10)
    found = Hits(lambda: archive, asked).page()
    assert found.most_words
    assert set(names(found)) == {"near", "apart"}
    assert not Hits(lambda: archive, Question("silver lamp")).page().most_words
    strict = Question("silver lamp unknown", ranking=Ranking(most_words=0.0))
    assert not Hits(lambda: archive, strict).page().hits


def test_an_address_finds_its_pages_by_their_urls(engine: Engine) -> None:
    urls = ["http://www.sea.example.org/", "http://sea.example.org/tide", "http://a.example.com/"]
    engine.write(batch([page(url, "2010", f"words {n}") for n, url in enumerate(urls)]))
    linked = page("http://c.example/", "2010", "told of sea.example.org here")
    engine.write(batch([linked]))
    engine.refresh()
    archive = Archive.over(engine)
    found = [hit.url for hit in archive.search("sea.example.org")]
    assert sorted(found) == sorted([*urls[:2], "http://c.example/"])
    assert [hit.url for hit in archive.search("www.sea.example.org/tide")] == [urls[1]]
    assert [hit.url for hit in archive.search("inurl:example.com")] == urls[2:]
    assert [hit.url for hit in archive.search("sea.example.org words -tide")] == urls[:1]


def test_judgements_and_rankings_are_kept(engine: Engine) -> None:
    urls = [f"http://example.org/{n}" for n in range(3)]
    pages = [page(url, "2010", f"words {n}", title="Lamp") for n, url in enumerate(urls)]
    engine.write(batch(pages))
    engine.refresh()
    archive = Archive.over(engine)
    assert [one.name for one in archive.rankings()] == ["default", "older"]
    archive.save_ranking("flat", title=1.0, phrase=0.0)
    assert archive.ranking("flat") == Ranking(title=1.0, phrase=0.0)
    assert archive.search("lamp", ranking="flat").question.ranking.name == "flat"
    with pytest.raises(UsageError, match=r"no ranking 'none'; use one of default, older, flat"):
        archive.search("lamp", ranking="none")
    assert archive.judge_queries([" lamp  words ", "lamp"]) == ["lamp", "lamp words"]
    with pytest.raises(QueryError):
        archive.judge_queries(["stone", '"lamp'])
    with pytest.raises(QueryError):
        archive.judge('"lamp', urls[0], 3, "ann")
    assert archive.judge_queries() == ["lamp", "lamp words"]
    listed = [hit.url for hit in archive.to_judge("lamp", "ann")]
    assert sorted(listed) == urls
    archive.judge("lamp", urls[0], 3, "ann")
    archive.judge("lamp", urls[0], 2, "ann")
    archive.judge("lamp", urls[0].replace("http:", "https:"), 3, "bob")
    archive.judge("lamp", urls[1], 0, "bob")
    assert [hit.url for hit in archive.to_judge("lamp", "ann")] == [
        url for url in listed if url != urls[0]
    ]
    assert archive.qrels() == {"lamp": {"org,example)/0": 2, "org,example)/1": 0}}
    assert archive.agreement()[0].both == 1
    found = archive.evaluate(["default", "flat"])
    assert [one.ranking for one in found] == ["default", "flat"]
    assert found[0].values["recall@100"].mean == 1.0
    assert archive.remove_ranking("flat")
    assert not archive.remove_ranking("flat")


def test_judgements_of_hidden_urls_are_not_shown(engine: Engine) -> None:
    urls = ["http://example.org/shown", "http://example.org/hidden"]
    engine.write(batch([page(url, "2010", "a lamp") for url in urls]))
    engine.refresh()
    own = Archive.over(engine)
    own.save_ranking("flat", title=1.0)
    own.add_judgements([("lamp", url, 3, "ann") for url in urls])
    own.add_rule("exclude", urls[1], reason="private")
    seen = RestrictedEngines(engine).for_viewer(EVERYBODY)
    assert [one.url for one in Archive.over(seen).judgements()] == urls[:1]
    assert Archive.over(seen).ranking("flat").title == 1.0
