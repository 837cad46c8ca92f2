"""Graphs of captures."""

import pickle

from nwx.engine.crawls.crawl_index import DocumentScore
from nwx.steering.specifications.specification import CrawlSpecification, Entity
from nwx.steering.triples.capture_graphs import analysed_page_graphs, score_graph
from tests.unit.steering.structured.pages import CAPTURE, URL, WHEN, view

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
