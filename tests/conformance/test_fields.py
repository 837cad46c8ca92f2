"""Fields of enrichers: written during and after imports, searched, counted, and hidden."""

from pathlib import Path

import pytest

from nwx.access.restricted_engine import restricted_to
from nwx.archive import Archive
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.importing import ImportOptions, import_files
from nwx.importing.enrichment import enrich_archive
from nwx.query.question import Question
from nwx.warc.sources import expand
from tests.conformance.archive import settings_of
from tests.warcs import Page, html, write_warc

TEXT = "Words about tides, weirs and mills that differ from line to line. " * 12
NAMES = "server,generator,license,keywords,dates,elements,extension"
HEAD = (
    '<meta name="generator" content="WordPress 5.2"><meta name="keywords" content="Tides; Weirs">'
    '<meta property="article:published_time" content="2014-03-25T13:17:32+01:00">'
    '<link rel="license" href="http://creativecommons.org/licenses/by/4.0/deed.en">'
)
PAGES = (
    Page(
        "http://a.example/page.html",
        "20150101000000",
        f"<html><head>{HEAD}</head><body><table></table><p>{TEXT}</p></body></html>".encode(),
        headers=("Server: Apache/2.4", "Last-Modified: Wed, 31 Dec 2014 23:00:00 GMT"),
        ip_address="192.0.2.7",
    ),
    Page("http://b.example/", "20150102000000", html("B", TEXT), headers=("Server: nginx",)),
    Page("http://b.example/c.png", "20150103000000", b"\x89PNG\r\n\x1a\n", "image/png"),
)
FOUND = {
    "generator:WordPress*": {"a"},
    'generator:"WordPress 5.2"': {"a"},
    "generator:*": {"a"},
    "server:nginx": {"b"},
    "ip:192.0.2.7": {"a"},
    "license:*by\\/4.0*": {"a"},
    "keywords:weirs": {"a"},
    "keywords:weir~1": {"a"},
    "published:2014-03-25": {"a"},
    "publication_date:[2014 TO 2015]": {"a"},
    "publication_date:[2014-04 TO *]": set(),
    "publication_year:[2010 TO 2014]": {"a"},
    "last_modified:2014-12": {"a"},
    "elements_used:table": {"a"},
    "content_type_ext:png": {"b"},
    "content_type_ext:(html OR png)": {"a", "b"},
    "NOT generator:*": {"b"},
}


def imported(engine: Engine, folder: Path, enrich: tuple[str, ...] = (), pages=PAGES) -> None:  # type: ignore[no-untyped-def]
    file = write_warc(folder / f"{len(pages)}.warc.gz", pages)
    options = ImportOptions(jobs=1, enrich=enrich)
    assert not import_files(engine, settings_of(engine), expand([str(file)]), options).errors


def hosts(engine: Engine, query: str) -> set[str]:
    return {hit.host[0] for hit in engine.search(Question(query)).hits}


@pytest.mark.parametrize("when", ["import", "later"])
def test_fields_are_found_and_counted(engine: Engine, tmp_path: Path, when: str) -> None:
    imported(engine, tmp_path, (NAMES,) if when == "import" else ())
    if when == "later":
        assert hosts(engine, "server:*") == set()
        report = enrich_archive(engine, [NAMES], 1)
        assert (report.captures, report.documents, report.files_done) == (3, 3, 0)
    assert {query: hosts(engine, query) for query in FOUND} == FOUND
    question = Question(facets=("generator", "publication_year"), filters={"generator": ["x"]})
    facets = engine.search(question).facets
    assert [(one.value, one.count) for one in facets["generator"]] == [("WordPress 5.2", 1)]
    assert facets["publication_year"] == ()
    assert enrich_archive(engine, (), 1).documents == 0
    page = next(iter(engine.search(Question("generator:*")).hits)).id
    fields = engine.documents([page])[page].extract.fields
    assert fields["publication_date"] == "2014-03-25T12:17:32Z"
    assert fields["license_url"] == "https://creativecommons.org/licenses/by/4.0/"
    assert dict(zip(fields["elements_used"], fields["elements_counts"], strict=True))["meta"] == 3


def test_fields_are_columns_of_documents(engine: Engine, tmp_path: Path) -> None:
    imported(engine, tmp_path, (NAMES,))
    columns = "generator, server, publication_date, last_modified, keywords, other_fields"
    query = f"SELECT {columns} FROM documents WHERE list_contains(elements_used, 'table')"
    dates = ["2014-03-25T12:17:32Z", "2014-12-31T23:00:00Z"]
    rows = list(Archive.over(engine).sql(query))
    assert rows == [["WordPress 5.2", "Apache/2.4", *dates, ["tides", "weirs"], None]]


def test_enrichers_are_kept_for_later_imports(engine: Engine, tmp_path: Path) -> None:
    imported(engine, tmp_path, ("server",), PAGES[:1])
    imported(engine, tmp_path, (), PAGES[1:])
    assert hosts(engine, "server:*") == {"a", "b"}
    assert hosts(engine, "generator:*") == set()


def test_heads_of_hidden_captures_are_not_told(engine: Engine, tmp_path: Path) -> None:
    again = Page(PAGES[0].url, "20160101000000", PAGES[0].body, revisit=True)
    imported(engine, tmp_path, (NAMES,), (*PAGES, again))
    first = Scope(date_from="20150101000000", date_to="20150101235959")
    engine.access_index().put([AccessRule("", Action.EXCLUDE, first)], "eva")
    engine.refresh()
    shown = restricted_to(engine, EVERYBODY)
    assert hosts(shown, "generator:*") == {"a"}
    assert hosts(shown, "server:*") == {"b"}
    assert hosts(shown, "last_modified:*") == hosts(shown, "warc_ip:*") == set()
    (page,) = shown.search(Question("generator:*")).hits
    fields = shown.documents([page.id])[page.id].extract.fields
    assert fields["generator"] == "WordPress 5.2" and "server" not in fields
