"""Entities that pages mention."""

from pyoxigraph import NamedNode

from nwx.engine.crawls.crawl_index import DocumentScore
from nwx.steering.specifications.specification import CrawlSpecification, Entity, EntityKind
from nwx.steering.structured.mentions import (
    Mention,
    analysed_mentions,
    entity_iri,
    mention_triples,
    structured_mentions,
)
from nwx.steering.structured.triples import structured_triples
from tests.unit.steering.structured.pages import view

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
