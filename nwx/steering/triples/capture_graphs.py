"""Graphs: what was found in one capture, with its source and date."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode, Triple

from nwx.engine.crawls.crawl_index import DocumentScore
from nwx.steering.analysis.page_view import PageView
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.structured.mentions import (
    Mention,
    analysed_mentions,
    mention_triples,
    structured_mentions,
)
from nwx.steering.structured.terms import (
    DCT_DATE,
    DCT_SOURCE,
    NWX_FORM,
    analysis_iri,
    capture_iri,
    date_literal,
    names_iri,
    page_iri,
)
from nwx.steering.structured.triples import structured_triples

GRAPH_FORM = Literal(2)
"""The form of graphs; those of another form are made again."""


class CaptureGraph(NamedTuple):
    """A graph of the store: its name and all of its triples."""

    name: NamedNode
    triples: tuple[Triple, ...]


def page_graph(page: PageView) -> CaptureGraph:
    """Return what a page states in markup, and the entities that it names there."""
    capture = capture_iri(page.url, page.timestamp)
    triples = structured_triples(page)
    mentions = mention_triples(capture, structured_mentions(triples))
    return _graph(capture, capture, page, [*triples, *mentions])


def names_graph(page: PageView, names: Iterable[Mention]) -> CaptureGraph:
    """Return the names that were found in the text of a page; there may be none."""
    capture = capture_iri(page.url, page.timestamp)
    name = names_iri(page.url, page.timestamp)
    return _graph(name, capture, page, list(mention_triples(capture, names)))


def score_graph(score: DocumentScore, specification: CrawlSpecification) -> CaptureGraph | None:
    """Return the entities of a specification that a page mentions, None where there are none."""
    capture = capture_iri(score.url, score.timestamp)
    mentions = analysed_mentions(score, specification)
    if not mentions:
        return None
    name = analysis_iri(score.url, score.timestamp, score.crawl)
    return _graph(name, capture, score, list(mention_triples(capture, mentions)))


def analysed_page_graphs(
    page: PageView, score: DocumentScore, specification: CrawlSpecification
) -> tuple[CaptureGraph, ...]:
    """Return the graphs of a page that was just analysed; they can be sent to other processes."""
    found = score_graph(score, specification)
    return (page_graph(page), found) if found else (page_graph(page),)


def _graph(
    name: NamedNode,
    capture: NamedNode,
    of: PageView | DocumentScore,
    triples: Sequence[Triple],
) -> CaptureGraph:
    about = (
        Triple(capture, DCT_SOURCE, page_iri(of.url)),
        Triple(capture, DCT_DATE, date_literal(of.timestamp)),
        Triple(name, NWX_FORM, GRAPH_FORM),
    )
    return CaptureGraph(name, (*about, *triples))
