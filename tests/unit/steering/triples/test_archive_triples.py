"""Triples of an archive's content."""

import io
import json
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Triple

from nwx.access.restricted_engine import RestrictedEngine
from nwx.bulk.progress import WorkProgress
from nwx.engine.access.rules import Scope
from nwx.engine.base import open_engine
from nwx.engine.indices.crawl_index import DocumentScore
from nwx.errors import SettingsError, WithheldError
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings, load_settings
from nwx.steering.analysis.page_view import page_view
from nwx.steering.specifications.specification import CrawlSpecification, Entity, EntityKind
from nwx.steering.specifications.specification_files import write_specification
from nwx.steering.triples.archive_triples import (
    ArchiveTriples,
    TriplesReport,
    triple_store,
    visible_triples,
)
from nwx.steering.triples.capture_graphs import CaptureGraph, Mention, page_graph
from nwx.steering.triples.entity_questions import EntityQuestions
from nwx.steering.triples.local_store import LocalTripleStore
from nwx.steering.triples.remote_store import RemoteTripleStore
from nwx.steering.triples.triple_store import (
    QueryLimits,
    SparqlQuery,
    TripleStore,
    TripleStoreError,
)
from nwx.warc.sources import expand
from tests.unit.access.archives import HIDDEN, PAGES, SHOWN, archive_of_pages, hiding
from tests.warcs import Page, html, write_warc

ADA = b"""<script type="application/ld+json">{"@context": "http://schema.org",
"@type": "Person", "name": "Ada"}</script>"""
LINKED_PAGES = [
    Page(f"http://a.example/{n}", "20150101000000", html("T", f"page {n}") + ADA) for n in range(3)
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(str(tmp_path / "archive"))
    write_warc(
        tmp_path / "a.warc.gz",
        [*LINKED_PAGES, Page("http://a.example/i", "2015", b"x", "image/png")],
    )
    with open_engine(settings) as engine:
        engine.create()
        sources = expand([str(tmp_path / "a.warc.gz")])
        import_files(engine, settings, sources, ImportOptions(jobs=1))
    return settings


def build(settings: Settings, **more: object) -> TriplesReport:
    with (
        open_engine(settings, read_only=True) as engine,
        triple_store(settings).writer() as writer,
    ):
        return ArchiveTriples(engine, settings, writer, **more).build()  # type: ignore[arg-type]


def entities(settings: Settings) -> dict[str, int]:
    questions = EntityQuestions(triple_store(settings), QueryLimits())
    return {one.name: one.captures for one in questions.entities()}


def test_progress_moves_with_the_pages_that_are_read(settings: Settings) -> None:
    shown: list[WorkProgress] = []
    build(settings, progress=shown.append)
    assert [each.done for each in shown] == [0, 1, 2, 3]
    assert {each.total for each in shown} == {3}


def test_each_page_is_read_once(settings: Settings) -> None:
    report = build(settings)
    assert (report.pages, report.known, report.errors_total) == (3, 0, 0)
    assert report.triples == 3 * (3 + 2 + 4)
    assert entities(settings) == {"Ada": 3}
    again = build(settings)
    assert (again.pages, again.known, again.triples) == (0, 3, 0)


def test_entities_that_analysis_found_are_added(settings: Settings) -> None:
    specification = CrawlSpecification(name="c", entities=(Entity("Bea", kind=EntityKind.PERSON),))
    text, version = write_specification(specification, "toml"), specification.version()
    score = DocumentScore(
        "c", version, "d", LINKED_PAGES[0].url, "20150101000000", 0.5, entities=(("Bea", 2),)
    )
    with open_engine(settings) as engine:
        engine.crawl_index().save_specification("c", version, text)
        engine.crawl_index().put_scores([score])
    assert build(settings).mentions == 1
    assert entities(settings) == {"Ada": 3, "Bea": 1}


def test_a_specification_that_cannot_be_read_is_reported(settings: Settings) -> None:
    text = 'name = "c"\nrules = [{ action = "prefer", hosts = ["a.example:8080"] }]\n'
    with open_engine(settings) as engine:
        engine.crawl_index().save_specification("c", "of an older nwx", text)
    report = build(settings)
    assert (report.pages, report.errors_total) == (3, 1)
    (error,) = report.errors
    assert "rules[1].hosts[1]: 'a.example:8080' has a port, which rules ignore" in str(error)
    assert "write 'a.example'" in str(error)


def test_names_in_texts_are_added_where_they_are_asked_for(settings: Settings) -> None:
    build(settings)
    report = build(settings, names=lambda page: [Mention(page.title, EntityKind.OTHER)])
    assert (report.pages, report.known) == (3, 0)
    assert entities(settings) == {"Ada": 3, "T": 3}
    assert build(settings, names=lambda page: []).known == 3
    assert build(settings).known == 3


def test_pages_of_files_that_are_gone_are_read_from_the_index(
    settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "a.warc.gz").unlink()
    report = build(settings)
    assert (report.pages, report.errors_total) == (3, 0)
    assert entities(settings) == {}


def test_a_build_that_is_stopped_says_so(settings: Settings) -> None:
    report = build(settings, stopping=lambda: True)
    assert (report.pages, report.interrupted) == (0, True)
    assert build(settings, collection="other").pages == 0


def test_it_is_in_the_archive_unless_another_place_is_set(tmp_path: Path) -> None:
    with triple_store(Settings(str(tmp_path / "archive"))).writer():
        assert (tmp_path / "archive" / "triples").is_dir()
    other = load_settings({}, {"NWX_ENGINE": "http://e.example", "NWX_TRIPLES": str(tmp_path)})
    assert isinstance(triple_store(other), LocalTripleStore)


def test_it_may_be_a_server() -> None:
    variables = {
        "NWX_TRIPLES": "http://t.example/update",
        "NWX_TRIPLES_QUERY": "http://t.example/q",
    }
    assert isinstance(triple_store(load_settings({}, variables)), RemoteTripleStore)


def test_an_archive_on_elasticsearch_needs_a_place() -> None:
    for address in ("http://e.example", "opensearch+https://e.example"):
        with pytest.raises(SettingsError, match="NWX_TRIPLES"):
            triple_store(Settings(address))


_ALL = SparqlQuery("SELECT ?s ?p ?o { ?s ?p ?o }")


def graph(url: str, *linked: str) -> CaptureGraph:
    made = page_graph(page_view(b"x", url, PAGES[url].capture.timestamp))
    triples = (Triple(NamedNode(url), NamedNode("urn:see"), NamedNode(one)) for one in linked)
    return CaptureGraph(made.name, (*made.triples, *triples))


def values(store: TripleStore) -> str:
    return json.dumps(json.loads(store.answer(_ALL, QueryLimits()).data))


def test_graphs_and_urls_that_are_hidden_are_left_out(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples=str(tmp_path / "triples"))
    with LocalTripleStore(tmp_path / "triples").writer() as writer:
        writer.put([graph(f"{SHOWN}1", f"{HIDDEN}2", f"{SHOWN}2"), graph(f"{HIDDEN}1")])
    with archive_of_pages(tmp_path / "archive") as engine:
        whole = visible_triples(settings, engine)
        assert HIDDEN in values(whole)
        shown = RestrictedEngine(engine, hiding())
        store = visible_triples(settings, shown)
        assert f"{SHOWN}1" in values(store)
        assert f"{SHOWN}2" in values(store)
        assert "hidden.test" not in values(store)
        written = io.BytesIO()
        store.export(written)
        assert b"hidden.test" not in written.getvalue()
        assert b"shown.test" in written.getvalue()
        assert HIDDEN in values(whole), "others see all triples still"
        assert store.version() not in ("", whole.version())
        with pytest.raises(TripleStoreError, match="whole archive"):
            store.writer()


def test_a_copy_follows_what_is_written_and_other_rules(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples=str(tmp_path / "triples"))
    with archive_of_pages(tmp_path / "archive") as engine:
        shown = RestrictedEngine(engine, hiding())
        store = visible_triples(settings, shown)
        assert store.version() == ""
        for url in (f"{SHOWN}1", f"{SHOWN}2", f"{HIDDEN}1"):
            with LocalTripleStore(tmp_path / "triples").writer() as writer:
                writer.put([graph(url)])
            assert (url in values(store)) == url.startswith(SHOWN)
        for number in range(6):
            scope = Scope(prefix=f"test,shown)/{number}", is_exact=True)
            other = visible_triples(settings, RestrictedEngine(engine, hiding(scope=scope)))
            assert (f"{SHOWN}1" in values(other)) == (number != 1)
        assert len(list((tmp_path / "triples").glob("shown-read-*"))) == 4


def test_no_copy_keeps_what_is_erased(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples=str(tmp_path / "triples"))
    with LocalTripleStore(tmp_path / "triples").writer() as writer:
        writer.put([graph(f"{SHOWN}1"), graph(f"{SHOWN}2"), graph(f"{HIDDEN}1")])
    with archive_of_pages(tmp_path / "archive") as engine:
        store = visible_triples(settings, RestrictedEngine(engine, hiding()))
        assert f"{SHOWN}2" in values(store)
        assert list((tmp_path / "triples").glob("shown-read-*"))
        with LocalTripleStore(tmp_path / "triples").writer() as writer:
            assert writer.erase([graph(f"{SHOWN}2").name]) == 1
        assert not list((tmp_path / "triples").glob("shown-read-*"))
        assert f"{SHOWN}2" not in values(store)
        assert f"{SHOWN}1" in values(store)


def test_triples_on_a_server_are_withheld(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples="http://127.0.0.1:9/update")
    with archive_of_pages(tmp_path / "archive") as engine:
        store = visible_triples(settings, RestrictedEngine(engine, hiding()))
        with pytest.raises(WithheldError, match="NWX_TRIPLES"):
            store.answer(_ALL, QueryLimits())
        with pytest.raises(WithheldError):
            store.export(io.BytesIO())
