"""Graphs of captures."""

import pickle

from pyoxigraph import NamedNode

from nwx.engine.indices.crawl_index import DocumentScore
from nwx.steering.analysis.language_models import DictionaryModel
from nwx.steering.specifications.specification import CrawlSpecification, Entity, EntityKind
from nwx.steering.triples.capture_graphs import (
    Mention,
    TextNames,
    analysed_mentions,
    analysed_page_graphs,
    entity_iri,
    mention_triples,
    score_graph,
    structured_mentions,
)
from nwx.steering.triples.structured_data import structured_triples
from tests.unit.steering.triples.pages import CAPTURE, URL, WHEN, view

ADA = "http://www.wikidata.org/entity/Q7259"


def test_entities_are_named_by_identifier_or_by_kind_and_name() -> None:
    for text in ("https://www.wikidata.org/wiki/Q7259", "http://wikidata.org/entity/Q7259"):
        assert entity_iri("Ada", EntityKind.PERSON, text).value == ADA
    assert entity_iri("x", EntityKind.PLACE, "http://p.example/").value == "http://p.example/"
    for name in ("ADA Löve", "Ada Lo\u0308ve"):
        found = entity_iri(name, EntityKind.PERSON, "isbn:1")
        assert found.value == "urn:nwx:entity:person:ada%20l%C3%B6ve"


def test_typed_things_with_a_name_are_mentions() -> None:
    html = """<script type="application/ld+json">{"@context": "http://schema.org", "@graph": [
    {"@type": "Person", "name": "Ada  L.", "sameAs": "https://www.wikidata.org/wiki/Q7259"},
    {"@type": "NewsMediaOrganization", "name": "The Lantern"}, {"@type": "MusicEvent"},
    {"@type": "City", "name": "Bay"}, {"@type": "Article", "name": "No entity"}]}</script>"""
    assert structured_mentions(structured_triples(view(html))) == [
        Mention("Ada L.", EntityKind.PERSON, "https://www.wikidata.org/wiki/Q7259"),
        Mention("The Lantern", EntityKind.ORGANISATION),
        Mention("Bay", EntityKind.PLACE),
    ]


def test_mentions_of_one_entity_add_up() -> None:
    capture = NamedNode("urn:c")
    both = [Mention("Ada", EntityKind.PERSON), Mention("ada", EntityKind.PERSON, times=3)]
    found = [str(one) for one in mention_triples(capture, [*both, Mention(" ", EntityKind.OTHER)])]
    assert len(found) == 4
    assert found[0].endswith("<urn:nwx:entity:person:ada>")
    assert '"4"' in found[3]


def test_entities_of_a_specification_have_its_kind_and_identifier() -> None:
    specification = CrawlSpecification(
        name="c", entities=(Entity("Ada", kind=EntityKind.PERSON, identifier=ADA),)
    )
    score = DocumentScore("c", "1", "d", "u", "2015", 0.5, entities=(("Ada", 3), ("gone", 1)))
    assert analysed_mentions(score, specification) == [Mention("Ada", EntityKind.PERSON, ADA, 3)]


def test_names_are_mentions_that_are_counted() -> None:
    text = "Dr Ada Lovelace met Charles Babbage in London. Dr Ada Lovelace wrote. "
    found = TextNames(DictionaryModel())(view(f"<html lang=en><p>{text * 3}</p></html>"))
    assert ("Ada Lovelace", EntityKind.PERSON) in [(one.name, one.kind) for one in found]
    assert len(found) == len(set(found))
    assert [one.times for one in found] == sorted((one.times for one in found), reverse=True)


SPECIFICATION = CrawlSpecification(name="c", entities=(Entity("Ada"),))


def test_a_page_that_was_analysed_has_a_graph_of_each_source() -> None:
    page = view('<meta property="og:title" content="T">')
    score = DocumentScore("c", "1", "d", URL, WHEN, 0.5, entities=(("Ada", 2),))
    stated, found = analysed_page_graphs(page, score, SPECIFICATION)
    assert stated.name.value == CAPTURE
    assert found.name.value == CAPTURE.replace("capture", "analysis:c")
    assert any("mentions" in str(one.predicate) for one in found.triples)
    for one in (stated, found):
        assert [str(triple.subject) for triple in one.triples[:2]] == [f"<{CAPTURE}>"] * 2
        assert pickle.loads(pickle.dumps(one)) == one


def test_pages_without_entities_have_no_graph_of_them() -> None:
    score = DocumentScore("c", "1", "d", URL, WHEN, 0.5)
    assert score_graph(score, SPECIFICATION) is None
    assert len(analysed_page_graphs(view("x"), score, SPECIFICATION)) == 1
