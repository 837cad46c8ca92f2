"""Crawl specifications and their versions, and the scores of documents and links."""

import random
from collections.abc import Iterator

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore, ScoredLink
from nwx.errors import EngineConflictError, EngineError, UsageError
from nwx.maintenance.agreement import check
from nwx.model import IndexName
from tests.conformance.archive import batch, page
from tests.conformance.engines import Opener

ABOVE_ENGINES = ("test_a_check_finds_what_does_not_agree",)

PAGES = [page(f"http://example.org/{n}", "2010", f"text {n}") for n in range(2)]
A, B, C = (f"http://{name}.example.org/" for name in "abc")


def score(id: str, *links: LinkScore, version: str = "v1", crawl: str = "votes") -> DocumentScore:
    url = f"http://example.org/{id}"
    entities = (("Ada Lovelace", 2), ("Bern", 1))
    return DocumentScore(
        crawl, version, id, url, "20260102030405", 0.25, "mediawiki", links, entities
    )


def link(url: str, relevance: float | None, reason: str = "") -> LinkScore:
    return LinkScore(url, relevance, "content", {"document": 0.25, "near": 0.5}, reason)


def best(engine: Engine, **asked: str) -> list[tuple[str, float | None]]:
    found = engine.crawl_index().best_links("votes", 100, **asked)
    return [(one.url, one.relevance) for one in found]


def test_an_archive_has_no_crawls_at_first(engine: Engine) -> None:
    crawls = engine.crawl_index()
    assert crawls.specifications() == crawls.versions("votes") == []
    assert crawls.specification("votes") is None
    assert crawls.analysed("votes", "v1", ["1"]) == set()
    assert crawls.analysed_versions("votes") == []
    assert crawls.best_links("votes", 10) == list(crawls.document_scores("votes")) == []
    assert not crawls.remove_specification("votes")
    assert engine.count(IndexName.CRAWLS) == engine.stats()[IndexName.CRAWLS].entries == 0
    assert list(engine.scan(IndexName.CRAWLS)) == []


def test_each_saved_specification_is_kept(engine: Engine) -> None:
    crawls = engine.crawl_index()
    first = crawls.save_specification("votes", "v1", "name = 'votes'")
    second = crawls.save_specification("votes", "v1", "name = 'votes' # two")
    third = crawls.save_specification("votes", "v2", "ü\n" * 50_000)
    other = crawls.save_specification("floods", "v9", "name = 'floods'")
    assert [one.number for one in (first, second, third, other)] == [1, 2, 3, 1]
    assert len(first.saved) == 14
    assert crawls.specifications() == [other, third]
    assert crawls.versions("votes") == [third, second, first]
    assert crawls.specification("votes") == third
    assert crawls.specification("votes", "v1") == second
    assert crawls.specification("votes", number=1) == first
    assert crawls.specification("votes", "v2", 1) is None
    assert crawls.specification("vote") is None
    assert engine.count(IndexName.CRAWLS) == 4


def test_the_same_text_is_saved_once(engine: Engine) -> None:
    crawls = engine.crawl_index()
    first = crawls.save_specification("votes", "v1", "text")
    assert crawls.save_specification("votes", "v1", "text") == first
    crawls.save_specification("votes", "v2", "other")
    assert crawls.save_specification("votes", "v1", "text").number == 3


def test_what_somebody_else_saved_is_not_replaced_unseen(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.save_specification("votes", "v1", "one", expected=0)
    with pytest.raises(EngineConflictError, match="someone else"):
        crawls.save_specification("votes", "v2", "two", expected=0)
    crawls.save_specification("votes", "v2", "two", expected=1)
    with pytest.raises(EngineConflictError):
        crawls.save_specification("votes", "v3", "three", expected=1)
    assert [one.text for one in crawls.versions("votes")] == ["two", "one"]


def test_scores_are_read_as_they_were_put(engine: Engine) -> None:
    crawls = engine.crawl_index()
    scores = [
        score("2", link(A, 0.5, "near the link: “élection”"), link(B, None, "blacklist host x")),
        score("1"),
        DocumentScore("votes", "v1", "3", "http://example.org/3", "20260102030405", 0.0),
    ]
    crawls.put_scores(scores)
    assert list(crawls.document_scores("votes")) == sorted(scores, key=lambda one: one.document_id)
    assert dict(crawls.score_values("votes")) == {one.document_id: one.score for one in scores}
    assert crawls.analysed("votes", "v1", ["1", "2", "9"]) == {"1", "2"}
    assert crawls.analysed("votes", "v2", ["1"]) == crawls.analysed("other", "v1", ["1"]) == set()
    (known,) = crawls.analysed_versions("votes")
    assert (known.version, known.documents, known.urls) == ("v1", 3, 2)
    assert crawls.best_links("votes", 1) == [
        ScoredLink(*scores[0].links[0][:5], "http://example.org/2")
    ]


def test_the_highest_relevance_of_a_url_counts_and_blacklisting_before_all(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.put_scores([score("1", link(A, 0.5), link(A, 0.7), link(B, 0.9), link(C, 0.1))])
    crawls.put_scores([score("2", link(A, 0.6), link(B, None), link(C, 0.2))])
    crawls.put_scores([score("3", link(B, 1.0), link(C, 0.0))])
    assert best(engine) == [(A, 0.7), (C, 0.2), (B, None)]
    assert [one.via[-1] for one in crawls.best_links("votes", 9)] == ["1", "2", "2"]
    assert best(engine, host="c.example.org") == [(C, 0.2)]
    assert best(engine, host="example.org") == []


def test_putting_scores_again_changes_nothing(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.put_scores([score("1", link(A, 0.5))])
    engine.refresh()
    before = list(engine.scan(IndexName.CRAWLS))
    crawls.put_scores([score("1", link(A, 0.9)), score("1", link(A, 0.8))])
    crawls.put_scores([])
    engine.refresh()
    assert list(engine.scan(IndexName.CRAWLS)) == before
    assert best(engine) == [(A, 0.5)]


def test_each_version_has_its_own_scores_and_the_last_written_counts(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.put_scores([score("1", link(A, 0.5))])
    crawls.put_scores([score("1", link(A, 0.2), link(B, 0.1), version="v2")])
    assert best(engine) == [(A, 0.2), (B, 0.1)]
    assert best(engine, version="v1") == [(A, 0.5)]
    assert [one.version for one in crawls.document_scores("votes")] == ["v2"]
    assert list(crawls.score_values("votes", "v1")) == [("1", 0.25)]
    assert list(crawls.score_values("votes", "v3")) == list(crawls.score_values("none")) == []
    assert [one.version for one in crawls.analysed_versions("votes")] == ["v2", "v1"]
    crawls.put_scores([score("2", link(C, 0.9))])
    assert best(engine) == [(C, 0.9), (A, 0.5)]


def test_scores_of_several_crawls_are_put_at_once(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.put_scores([score("1", link(A, 0.5)), score("1", link(A, 0.9), crawl="other")])
    assert best(engine) == [(A, 0.5)]
    assert [one.relevance for one in crawls.best_links("other", 9)] == [0.9]


def test_pages_of_links_are_in_one_order(engine: Engine) -> None:
    chance = random.Random(31)
    levels = (None, 0.0, 0.25, 0.5, 1.0)
    crawls = engine.crawl_index()
    links = [link(f"http://h{n % 7}.example.org/{n}", chance.choice(levels)) for n in range(700)]
    crawls.put_scores([score(f"{n:03}", *links[n : n + 70]) for n in range(0, 700, 70)])
    everything = crawls.best_links("votes", 10_000_000)
    assert len(everything) == 700
    ranks = [-1.0 if one.relevance is None else one.relevance for one in everything]
    assert ranks == sorted(ranks, reverse=True)
    pages = [crawls.best_links("votes", 90, offset) for offset in range(0, 720, 90)]
    assert [one for page in pages for one in page] == everything
    assert crawls.best_links("votes", 5, 700) == []
    assert crawls.best_links("votes", 20_000, 690) == everything[690:]


def test_a_removed_crawl_is_gone_and_may_come_back(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.save_specification("votes", "v1", "text")
    crawls.save_specification("other", "v1", "text")
    crawls.put_scores([score("1", link(A, 0.5), link(B, None)), score("1", crawl="other")])
    assert crawls.remove_specification("votes")
    assert not crawls.remove_specification("votes")
    assert best(engine) == list(crawls.document_scores("votes")) == []
    assert [one.name for one in crawls.specifications()] == ["other"]
    assert len(list(crawls.document_scores("other"))) == 1
    assert crawls.save_specification("votes", "v1", "text").number == 1
    crawls.put_scores([score("1", link(A, 0.3), link(B, 0.2))])
    assert best(engine) == [(A, 0.3), (B, 0.2)]
    engine.refresh()
    assert engine.count(IndexName.CRAWLS) == len(list(engine.scan(IndexName.CRAWLS)))


def test_entries_are_streamed_by_id(engine: Engine) -> None:
    crawls = engine.crawl_index()
    for name in ("a", "a-b", "a.b", "B"):
        crawls.save_specification(name, "v1", name)
        many = [link(f"{A}{n}", 0.5) for n in range(3)]
        crawls.put_scores([score(f"{n}", *many, crawl=name) for n in range(2)])
    engine.refresh()
    entries = list(engine.scan(IndexName.CRAWLS))
    ids = [entry["id"] for entry in entries]
    assert ids == sorted(ids)
    assert len(set(ids)) == engine.count(IndexName.CRAWLS) == 4 * (1 + 3 + 2)
    by_kind = {entry["kind"]: entry for entry in entries if entry["crawl"] == "a"}
    assert by_kind["specification"]["text"] == "a"
    assert by_kind["link"]["relevance"] == by_kind["score"]["links"][0]["relevance"] == 0.5
    assert by_kind["link"]["host"] == "a.example.org"
    assert by_kind["score"]["entities"] == ["Ada Lovelace", "Bern"]


def test_strange_texts_are_kept(engine: Engine) -> None:
    crawls = engine.crawl_index()
    urls = [f"{A}{'x' * 16_000}", f"{A}?q=\u2028é'\"", "javascript:alert(1)", f"{A}\x00"]
    crawls.put_scores([score("1", *(link(url, 0.5) for url in urls))])
    assert {url for url, _ in best(engine)} == set(urls)
    found = next(crawls.document_scores("votes"))
    assert [one.url for one in found.links] == urls


def test_what_utf_8_cannot_hold_becomes_a_question_mark(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.put_scores([score("1", link(f"{A}\ud800", 0.5), link(B, 0.4))])
    assert best(engine) == [(f"{A}?", 0.5), (B, 0.4)]
    assert [one.url for one in next(crawls.document_scores("votes")).links] == [f"{A}?", B]


def test_a_check_finds_what_does_not_agree(engine: Engine) -> None:
    assert list(check(engine)) == []
    engine.write(batch(PAGES))
    engine.refresh()
    known, *_ = PAGES
    crawls = engine.crawl_index()
    crawls.save_specification("votes", "v1", "name = 'votes'")
    crawls.put_scores([score(known.capture.document_id, link(A, 0.5), link(B, None))])
    engine.refresh()
    assert list(check(engine)) == []
    crawls.save_specification("votes", "v2", "older = 1")
    crawls.put_scores([score("nobody")])
    engine.refresh()
    found = [(one.kind, one.index, one.id) for one in check(engine)]
    assert found == [
        ("specification", "crawls", "specification/votes/000002"),
        ("undocumented", "crawls", "score/votes/v1/nobody"),
    ]


def test_entries_are_not_deleted_one_by_one(engine: Engine) -> None:
    with pytest.raises(UsageError, match="nwx crawls remove"):
        engine.delete(IndexName.CRAWLS, ["specification/votes/000001"])


def test_an_import_is_not_in_the_way(open_archive: Opener) -> None:
    with open_archive() as importing, open_archive() as other:
        importing.create()
        importing.write(batch([page("http://example.org/", "2010", "text")]))
        saved = other.crawl_index().save_specification("votes", "v1", "text")
        other.crawl_index().put_scores([score("1", link(A, 0.5))])
        importing.crawl_index().put_scores([score("2", link(A, 0.6))])
        assert importing.crawl_index().specifications() == [saved]
        assert best(other) == best(importing) == [(A, 0.6)]
        importing.refresh()
        assert importing.count(IndexName.DOCUMENTS) == 1


@pytest.fixture
def unmade(open_archive: Opener) -> Iterator[Engine]:
    with open_archive() as engine:
        yield engine


def test_a_specification_may_come_before_the_archive(unmade: Engine) -> None:
    unmade.crawl_index().save_specification("votes", "v1", "text")
    assert [one.name for one in unmade.crawl_index().specifications()] == ["votes"]
    unmade.create()
    assert unmade.count(IndexName.DOCUMENTS) == 0


def test_scores_of_an_engine_that_only_reads(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.crawl_index().put_scores([score("1", link(A, 0.5))])
    if engine.traits.is_local:
        from nwx.engine.base import open_engine
        from nwx.settings import Settings

        with open_engine(Settings(engine=engine.address), read_only=True) as reading:
            assert best(reading) == [(A, 0.5)]
            with pytest.raises(EngineError, match="reading only"):
                reading.crawl_index().put_scores([score("2")])


def test_the_highest_relevance_of_urls(engine: Engine) -> None:
    crawls = engine.crawl_index()
    assert crawls.relevances("votes", "v1", [A, B]) == {}
    crawls.put_scores([score("1", link(A, 0.5), link(B, 0.25))])
    crawls.put_scores([score("2", link(A, 0.25), link(B, None)), score("3", version="v2")])
    assert crawls.relevances("votes", "v1", [A, B, C]) == {A: 0.5, B: None}
    assert crawls.relevances("votes", "v2", [A]) == crawls.relevances("plays", "v1", [A]) == {}
