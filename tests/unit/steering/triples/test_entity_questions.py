"""Where, when and with whom entities are mentioned."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.steering.specifications.specification import EntityKind
from nwx.steering.triples.capture_graphs import page_graph
from nwx.steering.triples.entity_questions import EntityCapture, EntityQuestions
from nwx.steering.triples.triple_store import QueryLimits
from tests.unit.steering.triples.pages import view
from tests.unit.steering.triples.stores import mentions, store_of

ADA = "urn:nwx:entity:person:ada"
ORGANISATION = """<script type="application/ld+json">
{"@context": "http://schema.org", "@type": "Organization", "name": "The Service"}</script>"""


@pytest.fixture(params=["local", "remote"])
def questions(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EntityQuestions]:
    with store_of(request.param, tmp_path) as store:
        with store.writer() as writer:
            writer.put(
                [
                    mentions("http://a.example/1", "20100101000000", "Ada", "Bea"),
                    mentions("http://a.example/2", "20120101000000", "Cleo", "Ada"),
                    mentions("http://a.example/3", "20120601000000", "Bea"),
                    page_graph(view(ORGANISATION, "http://a.example/3")),
                ]
            )
        yield EntityQuestions(store, QueryLimits())


def test_entities_are_listed_by_the_number_of_captures(questions: EntityQuestions) -> None:
    found = [(one.name, one.kind.value, one.captures) for one in questions.entities()]
    assert found == [
        ("Ada", "person", 2),
        ("Bea", "person", 2),
        ("Cleo", "person", 1),
        ("The Service", "organisation", 1),
    ]
    assert [one.name for one in questions.entities("E")] == ["Bea", "Cleo", "The Service"]
    assert [one.name for one in questions.entities('"\\')] == []
    assert [one.name for one in questions.entities(kind=EntityKind.ORGANISATION)] == ["The Service"]
    assert [one.name for one in questions.entities(limit=1, offset=1)] == ["Bea"]


def test_an_entity_has_years_captures_and_companions(questions: EntityQuestions) -> None:
    facts = questions.facts(ADA)
    assert facts is not None
    assert (facts.names, facts.kind, facts.captures) == (("Ada",), EntityKind.PERSON, 2)
    assert facts.years == (("2010", 1), ("2012", 1))
    assert [(one.name, one.captures) for one in facts.companions] == [("Bea", 1), ("Cleo", 1)]
    assert questions.captures(ADA) == [
        EntityCapture("http://a.example/1", "20100101000000", 1),
        EntityCapture("http://a.example/2", "20120101000000", 2),
    ]
    assert [one.timestamp[:4] for one in questions.captures(ADA, year="2012")] == ["2012"]


def test_what_is_no_entity_has_no_facts(questions: EntityQuestions) -> None:
    for name in ("urn:nwx:entity:person:nobody", "no iri", "urn:x> { } #", ""):
        assert questions.facts(name) is None
        assert questions.captures(name) == []


def test_answers_are_kept_for_a_version_of_the_store(tmp_path: Path) -> None:
    known: dict[tuple[str, str], bytes] = {}
    with store_of("local", tmp_path) as store:
        for number in (1, 2):
            with store.writer() as writer:
                writer.put([mentions(f"http://a.example/{number}", "20100101000000", "Ada")])
            for _ in range(2):
                [one] = EntityQuestions(store, QueryLimits(), known).entities()
                assert one.captures == number
            assert len(known) == number
