"""Number of documents in an archive that contain the terms of a specification."""

from nwx.engine.base import Engine
from nwx.steering.analysis.document_scorer import term_statistics
from nwx.steering.specifications.specification import CrawlSpecification, Entity, Keyword
from tests.conformance.archive import batch, page

NEW_ARCHIVES = True
"""Deleted entries would count in the statistics tested here."""

TEXTS = ("a flood of the river Elbe", "another FLOOD, and C++", "nothing of it", "東京 洪水 灾害")


def test_terms_are_counted_whatever_they_are(engine: Engine) -> None:
    pages = [page(f"http://example.org/{n}", "2010", text) for n, text in enumerate(TEXTS)]
    engine.write(batch(pages))
    engine.refresh()
    specification = CrawlSpecification(
        "floods",
        keywords=(Keyword("flood"), Keyword("river Elbe"), Keyword("drought"), Keyword("!!!")),
        entities=(Entity("Elbe"), Entity('a "b" *?~ AND (c'), Entity("x" * 5_000)),
    )
    found = term_statistics(engine, specification)
    assert found.documents == len(TEXTS)
    assert {name: count for name, count in found.frequencies.items() if count} == {
        "flood": 2,
        "river Elbe": 1,
        "Elbe": 1,
    }


def test_an_archive_without_documents_makes_all_terms_alike(engine: Engine) -> None:
    specification = CrawlSpecification("floods", keywords=(Keyword("flood"), Keyword("water")))
    found = term_statistics(engine, specification)
    assert found.documents == 0
    assert found.rarities(["flood", "water"]) == [1, 1]
