"""Triples of what an archive holds."""

from pathlib import Path

import pytest

from nwx.bulk.progress import WorkProgress
from nwx.engine.indices.crawl_index import DocumentScore
from nwx.engine.open import open_engine
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering.specifications.specification import CrawlSpecification, Entity, EntityKind
from nwx.steering.specifications.specification_files import write_specification
from nwx.steering.triples.archive_triples import ArchiveTriples, TriplesReport
from nwx.steering.triples.capture_graphs import Mention
from nwx.steering.triples.entity_questions import EntityQuestions
from nwx.steering.triples.triple_store import QueryLimits
from nwx.steering.triples.visible_store import triple_store
from nwx.warc.sources import expand
from tests.warcs import Page, html, write_warc

ADA = b"""<script type="application/ld+json">{"@context": "http://schema.org",
"@type": "Person", "name": "Ada"}</script>"""
PAGES = [
    Page(f"http://a.example/{n}", "20150101000000", html("T", f"page {n}") + ADA) for n in range(3)
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(str(tmp_path / "archive"))
    write_warc(
        tmp_path / "a.warc.gz", [*PAGES, Page("http://a.example/i", "2015", b"x", "image/png")]
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
        "c", version, "d", PAGES[0].url, "20150101000000", 0.5, entities=(("Bea", 2),)
    )
    with open_engine(settings) as engine:
        engine.crawl_index().save_specification("c", version, text)
        engine.crawl_index().put_scores([score])
    assert build(settings).mentions == 1
    assert entities(settings) == {"Ada": 3, "Bea": 1}


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
