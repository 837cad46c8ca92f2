"""A triple store with hostile names, for tests of its pages."""

from pathlib import Path

from pyoxigraph import Literal, NamedNode, Triple

from nwx.engine.indices.crawl_index import DocumentScore
from nwx.settings import Settings
from nwx.steering.specifications.specification import CrawlSpecification, Entity, EntityKind
from nwx.steering.triples.archive_triples import triple_store
from nwx.steering.triples.capture_graphs import CaptureGraph, score_graph
from nwx.steering.triples.terms import capture_iri

HOSTILE = "<script>alert('x')</script>"
WIKIDATA = "https://www.wikidata.org/wiki/Q7259"
LONG = "L" + "o" * 300 + "ng"


def mentioned(url: str, timestamp: str, **names: int) -> CaptureGraph:
    """Return the graph of a page that mentions each entity a given number of times."""
    entities = (
        Entity("Ada", kind=EntityKind.PERSON, identifier=WIKIDATA),
        Entity("Bea", kind=EntityKind.PERSON),
        Entity("Lantern", kind=EntityKind.ORGANISATION),
        Entity("Hostile", (), EntityKind.OTHER, "javascript:alert(1)"),
        *(Entity(f"Place {n}", kind=EntityKind.PLACE) for n in range(60)),
    )
    renamed = {"Hostile": HOSTILE, "Lantern": LONG}
    specification = CrawlSpecification(
        name="c",
        entities=tuple(
            Entity(renamed.get(one.name, one.name), (), one.kind, one.identifier)
            for one in entities
        ),
    )
    found = tuple((renamed.get(name, name), count) for name, count in names.items())
    graph = score_graph(
        DocumentScore("c", "1", "d", url, timestamp, 0.5, entities=found), specification
    )
    assert graph is not None
    return graph


def write_triples(folder: Path) -> Settings:
    """Fill the triple store of an archive; return its settings."""
    settings = Settings(str(folder))
    places = {f"Place {n}": 1 for n in range(60)}
    graphs = [
        mentioned("http://hub.test/", "20100101000000", Ada=2, Bea=1, Hostile=1),
        mentioned("http://hub.test/two?a=b&c=d", "20120101000000", Ada=1, Lantern=3),
        mentioned("http://hub.test/places", "20120601000000", **places),
        _hostile_page(),
    ]
    with triple_store(settings).writer() as writer:
        writer.put(graphs)
    return settings


def _hostile_page() -> CaptureGraph:
    capture = capture_iri("http://evil.test/", "20130101000000")
    title = NamedNode("http://ogp.me/ns#title")
    return CaptureGraph(
        capture,
        (
            Triple(NamedNode("javascript:alert(1)"), title, Literal(HOSTILE)),
            Triple(NamedNode("http://evil.test/"), title, Literal("x" * 1_500)),
        ),
    )
