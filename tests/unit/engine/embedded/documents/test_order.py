"""The first documents of a result, in order."""

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import order, search
from nwx.engine.embedded.documents.order import by_date
from nwx.model import Collapse, Document, SearchResult, Sort
from nwx.query.question import Question, resolve
from nwx.query.rankings import DEFAULT
from tests.unit.engine.embedded.making import batch, page

COLUMNS: Any = SimpleNamespace(
    oldest=np.array([0, 2010, 2009, 2010, 2012]),
    newest=np.array([0, 2015, 2011, 2010, 2012]),
    id_start=np.array([0, 9, 5, 3, 1]),
)
NUMS = np.array([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("sort", "nums"), [(Sort.OLDEST, [2, 3, 1, 4]), (Sort.NEWEST, [1, 4, 2, 3])]
)
def test_documents_come_by_date_and_equal_dates_by_id(sort: Sort, nums: list[int]) -> None:
    assert [one.num for one in by_date(COLUMNS, NUMS, None, 10, sort)] == nums
    assert [one.num for one in by_date(COLUMNS, NUMS, None, 2, sort)] == nums[:2]


def test_the_first_of_each_group_is_kept() -> None:
    groups = np.array([0, 7, 8, 7, 8])
    assert [one.num for one in by_date(COLUMNS, NUMS, groups, 10, Sort.OLDEST)] == [2, 3]


def test_groups_are_looked_for_beyond_the_first_documents() -> None:
    count = 500
    dates = np.arange(count)
    columns: Any = SimpleNamespace(oldest=dates, newest=dates, id_start=dates)
    groups = np.where(dates < 400, 1, 2)
    found = by_date(columns, dates, groups, 2, Sort.OLDEST)
    assert [one.num for one in found] == [0, 400]


COUNT = 600
WORDS = [f"w{rank}" for rank in range(1, 13)]
WEIGHTS = [1 / rank for rank in range(1, 13)]


def _document(number: int, source: random.Random, *, titled: bool) -> Document:
    def draw(most: int) -> str:
        return " ".join(source.choices(WORDS, WEIGHTS, k=source.randint(0, most)))

    return page(
        number,
        draw(25) or "nothing",
        title=draw(3) if titled else "",
        content_language=source.choice(("en", "de")),
        timestamp=f"{source.randint(2001, 2009)}0101000000",
    )


@pytest.fixture(scope="module", params=[True, False])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedEngine]:
    source = random.Random(5)
    with EmbeddedEngine(tmp_path_factory.mktemp("steps") / "archive") as engine:
        for start in range(0, COUNT, 150):
            numbers = range(start, start + 150)
            engine.write(batch(*(_document(n, source, titled=request.param) for n in numbers)))
            engine.refresh()
        yield engine


def _places(result: SearchResult) -> list[tuple[str, float]]:
    return [(hit.id, round(hit.score, 4)) for hit in result.hits]


@pytest.mark.parametrize("first", [2, 32])
def test_the_best_are_those_of_all_scores(
    archive: EmbeddedEngine, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = random.Random(first)
    monkeypatch.setattr(order, "_WORTH_A_STEP", 1)
    monkeypatch.setattr(order, "_FIRST_TRY", first)
    for _ in range(60):
        question = Question(
            " ".join(source.choices(WORDS, k=source.randint(1, 3))),
            filters={"language": ("en",)} if source.random() < 0.3 else {},
            date_from="2005" if source.random() < 0.3 else "",
            collapse=source.choice((Collapse.URL, Collapse.NONE)),
            offset=source.choice((0, 0, 5)),
            limit=source.choice((1, 10, 40)),
        )
        found = archive.search(question)
        with monkeypatch.context() as without:
            without.setattr(search, "steps", lambda *_: ())
            assert _places(archive.search(question)) == _places(found)


def test_few_of_many_are_scored(archive: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_WORTH_A_STEP", 1)
    view = archive._viewer.view()
    query, weights = resolve(Question("w1 w2")).tree, DEFAULT.fields
    found = list(order.steps(query, (), view.searcher, COUNT, weights))
    bounds = [one.bound for one in found]
    assert len(bounds) in (1, 4)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == 0.0
    either = resolve(Question("w1 OR w2")).tree
    assert not list(order.steps(either, (), view.searcher, COUNT, weights))
