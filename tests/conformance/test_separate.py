"""Captures with separate documents in addition to the document of their key."""

from dataclasses import replace

from nwx.engine.base import Engine
from nwx.engine.entries import id_of
from nwx.importing.sole_import import Separated
from nwx.keys import capture_key, document_id, document_key
from nwx.maintenance.agreement import check
from nwx.model import UNDEDUPLICATED, Batch, Collapse, Document, IndexName, Sort, SourceFile
from nwx.query.tree import All, Term
from tests.conformance.archive import dates_of, page
from tests.conformance.asking import facet, search

URL = "http://example.org/"
YEARS = ("2013", "2010", "2012", "2011")
SEEN = [page(URL, year, "the same words", offset=int(year)) for year in YEARS]
OTHER = page(URL, "2014", "other words", offset=2014)


def store(engine: Engine, *documents: Document, each: bool = True) -> None:
    """Write captures like an import, each in a separate part."""
    separated = Separated(engine)
    separated.note(engine.files())
    for one in documents:
        capture = one.capture
        counts = {"captures": 1} | ({UNDEDUPLICATED: 1} if each else {})
        name = f"{capture.timestamp}.warc.gz"
        capture = replace(capture, source_file=name)
        file = SourceFile(capture.collection, name, name, 1, "x", 1, True, counts)
        separated.note([file])
        batch = Batch((replace(one, capture=capture),), (capture,), dates_of(capture), (file,))
        for write in separated.writes(batch, every=each):
            write()
    engine.refresh()


def found(engine: Engine, **more: object) -> list[tuple[str, ...]]:
    """Return the dates of the documents with the same words, in hit order."""
    result = search(engine, Term("", "same"), **more)  # type: ignore[arg-type]
    return [tuple(date[:4] for date in hit.dates) for hit in result.hits]


def test_each_capture_has_an_entry_and_the_first_has_all_dates(engine: Engine) -> None:
    store(engine, *SEEN, OTHER)
    assert engine.count(IndexName.DOCUMENTS) == 5
    by_age = found(engine, sort=Sort.OLDEST)
    assert by_age == [("2010", "2011", "2012", "2013"), ("2011",), ("2012",), ("2013",)]
    assert list(check(engine)) == []


def test_they_fold_filter_and_count_as_documents_do(engine: Engine) -> None:
    store(engine, *SEEN, OTHER)
    folded = search(engine, Term("", "words"), collapse=Collapse.URL)
    assert (folded.total.value, folded.documents.value) == (1, 5)
    assert folded.hits[0].versions == 5
    in_2012 = found(engine, filters={"year": ("2012",)})
    assert sorted(in_2012) == [("2010", "2011", "2012", "2013"), ("2012",)]
    years = facet(search(engine, All(), facets=("year",)), "year")
    assert dict(years) == {"2010": 1, "2011": 2, "2012": 2, "2013": 2, "2014": 1}


def test_dates_that_come_later_are_those_of_the_key(engine: Engine) -> None:
    store(engine, *SEEN[:2])
    key = document_key(URL, SEEN[0].capture.digest)
    late = replace(dates_of(SEEN[0].capture)[0], key=key, seen=(("20200101000000", "web"),))
    assert engine.append_dates([late]) == 1
    engine.refresh()
    assert sorted(found(engine)) == [("2010", "2013", "2020"), ("2013",)]


def test_a_deduplicated_import_beside_leaves_each_its_own(engine: Engine) -> None:
    store(engine, SEEN[0], SEEN[2])
    store(engine, SEEN[1], SEEN[3], each=False)
    made = {entry["timestamp"][:4]: entry["id"] for entry in engine.scan(IndexName.DOCUMENTS)}
    assert made.keys() == {"2010", "2012", "2013"}
    assert made["2010"] == id_of(SEEN[1].capture)
    own = replace(SEEN[0].capture, source_file="20130101000000.warc.gz")
    assert made["2013"] == document_id(capture_key(own))
    assert list(check(engine)) == []
    store(engine, SEEN[0])
    assert engine.count(IndexName.DOCUMENTS) == 3


def test_they_can_be_deleted_alone(engine: Engine) -> None:
    store(engine, *SEEN[:2])
    own = replace(SEEN[0].capture, source_file="20130101000000.warc.gz")
    assert engine.delete(IndexName.DOCUMENTS, [document_id(capture_key(own))]) == 1
    engine.refresh()
    assert found(engine) == [("2010", "2013")]
