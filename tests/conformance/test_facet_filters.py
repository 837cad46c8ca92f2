"""A facet ignores the filter on its own field, so that it lists the alternatives."""

from dataclasses import replace
from random import Random

import pytest

from nwx.engine.base import Engine
from nwx.query.fields import FACET_FIELDS
from nwx.query.question import Question
from tests.conformance import chance
from tests.conformance.asking import facet
from tests.conformance.test_chance import BATCHES as CHANCE_BATCHES
from tests.conformance.test_chance import check

BATCHES = CHANCE_BATCHES

COUNTED = ("collection", "host", "content_type_norm", "status_code", "content_language", "year")
SEEDS = (*range(12), 16, 18, 20, 21, 25, 26, 28, 34, 35, 36, 39, 44, 45, 47, 53, 56)
"""These seeds cover the same branches as the first 60."""


def question(chosen: Random) -> Question:
    """Return a random question with filters on facets that it counts."""
    found = chance.request(chosen)
    values = {
        "collection": chance.COLLECTIONS,
        "host": chance.HOSTS,
        "content_type_norm": ["html", "pdf"],
        "status_code": ["200", "404"],
        "content_language": chance.LANGUAGES[:2],
        "year": [str(year) for year in chance.YEARS],
    }
    names = chosen.sample(COUNTED, chosen.randint(1, 3))
    filters = {
        name: tuple(chosen.sample(values[name], min(len(values[name]), chosen.randint(1, 4))))
        for name in names
    }
    return replace(found, query=chance.node(chosen, 1), filters=filters, facets=FACET_FIELDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_each_facet_leaves_out_its_own_filter(archive: Engine, seed: int) -> None:
    asked = question(Random(3000 + seed))
    check(asked, archive.search(asked))


def test_what_could_be_chosen_instead_is_counted(archive: Engine) -> None:
    alone = Question(filters={"language": ("en",)}, facets=("language", "type"), facet_size=100)
    everything = replace(alone, filters={})
    found, all_of = archive.search(alone), archive.search(everything)
    assert facet(found, "content_language") == facet(all_of, "content_language")
    english = dict(facet(all_of, "content_language"))["en"]
    assert sum(count for _, count in facet(found, "content_type_norm")) == english
    assert found.documents.value == english


def test_the_years_leave_out_the_span_of_dates(archive: Engine) -> None:
    spanned = Question(date_from="2010", date_to="2011", facets=("year", "host"))
    found, all_of = archive.search(spanned), archive.search(Question(facets=("year",)))
    assert facet(found, "year") == facet(all_of, "year")
    assert found.documents.value < all_of.documents.value


def test_a_page_without_hits_has_facets(archive: Engine) -> None:
    found = archive.search(
        Question(filters={"host": ("a.test",)}, facets=("host",), limit=0, snippets=False)
    )
    assert found.hits == ()
    assert set(chance.HOSTS) == {value for value, _ in facet(found, "host")}
