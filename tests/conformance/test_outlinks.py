"""Outlinks in metadata records become links of documents, wherever the records are."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.importing import ImportOptions, ImportReport, import_files
from nwx.keys import document_id, document_key
from nwx.model import Batch, IndexName, Link, Written
from nwx.query.tree import Term
from nwx.warc.sources import expand
from tests.conformance.archive import batch, full, page, settings_of
from tests.conformance.asking import ask
from tests.conformance.engines import Opener
from tests.warc_records import FIELDS, http_response, outlink_lines, warc_bytes, write_records
from tests.warcs import Page

ABOVE_ENGINES = True

HOME = page("http://example.org/", "2010", "welcome home", title="Home")
LINKED = replace(HOME, extract=replace(HOME.extract, links=(Link("http://b.example/"),)))


def test_a_document_can_be_amended(engine: Engine) -> None:
    engine.write(batch([HOME]))
    amended = Batch(amended=(LINKED,))
    assert engine.write(batch([LINKED])) == Written()
    assert engine.write(amended) == Written(replaced=1)
    engine.refresh()
    id = HOME.capture.document_id
    assert engine.documents([id]) == {id: LINKED}
    assert engine.count(IndexName.DOCUMENTS) == 1
    engine.write(amended)
    engine.write(batch([HOME]))
    engine.refresh()
    assert engine.documents([id]) == {id: LINKED}
    assert ask(engine, Term("", "welcome")) == {""}


def test_an_amended_document_gives_way_to_an_earlier_capture(engine: Engine) -> None:
    older = replace(HOME, capture=replace(HOME.capture, timestamp=full("2008")))
    id = HOME.capture.document_id
    engine.write(batch([HOME]))
    engine.write(batch([older]))
    assert engine.write(Batch(amended=(LINKED,))).replaced == 0
    engine.refresh()
    assert engine.documents([id]) == {id: older}


def response(name: str, body: bytes) -> bytes:
    return warc_bytes("response", http_response(body), id=name, url=f"http://a.example/{name}")


def outlinks(name: str, *urls: str, **fields: str) -> bytes:
    names = {"url": f"http://a.example/{name}", "date": "2016-01-01T00:00:00Z"} | fields
    return warc_bytes(
        "metadata", outlink_lines(*urls), id=f"m-{name}-{urls[0]}", content_type=FIELDS, **names
    )


def body(name: str) -> bytes:
    return f'<p>page {name} <a href="http://own.example/">own</a>'.encode()


def links_of(engine: Engine, names: Collection[str]) -> dict[str, list[str]]:
    """Return the links of pages, except the pages' own."""
    keys = {
        name: document_id(document_key(f"http://a.example/{name}", Page("", "", body(name)).digest))
        for name in names
    }
    found = engine.documents(list(keys.values()))
    return {
        name: [link.url for link in found[id].extract.links if "own" not in link.url]
        for name, id in keys.items()
    }


def imported(
    opener: Opener, path: Path, **options: object
) -> tuple[ImportReport, dict[str, list[str]]]:
    names = [f"p{number}" for number in range(4)]
    with opener() as engine:
        engine.create()
        wanted = ImportOptions(jobs=1, **options)  # type: ignore[arg-type]
        report = import_files(engine, settings_of(engine), expand([str(path)]), wanted)
        return report, links_of(engine, names)


@pytest.mark.parametrize("deduplicate", [True, False])
def test_metadata_is_found_beside_behind_before_and_by_url(
    open_archive: Opener, tmp_path: Path, deduplicate: bool
) -> None:
    fill = [response(f"f{number}", body(f"f{number}")) for number in range(60)]
    records = [
        outlinks("x", "http://b.example/before", url="", WARC_Refers_To="<urn:x:p2>"),
        response("p0", body("p0")),
        outlinks(
            "p0", "http://b.example/1", "http://own.example/", WARC_Concurrent_To="<urn:x:p0>"
        ),
        outlinks("p0", "http://b.example/2", WARC_Concurrent_To="<urn:x:p0>"),
        response("p1", body("p1")),
        *fill,
        response("p2", body("p2")),
        response("p3", body("p3")),
        outlinks("p1", "http://b.example/3", WARC_Concurrent_To="<urn:x:p1>"),
        outlinks("p3", "http://b.example/4", date="2015-01-01T00:00:00Z"),
        outlinks("p1", "http://b.example/5", date="2015-01-01T00:00:00Z"),
        outlinks("p9", "http://b.example/6", WARC_Concurrent_To="<urn:x:p9>"),
    ]
    path = write_records(tmp_path / "a.warc.gz", records)
    report, links = imported(open_archive, path, deduplicate=deduplicate)
    assert links == {
        "p0": ["http://b.example/1", "http://b.example/2"],
        "p1": ["http://b.example/3", "http://b.example/5"],
        "p2": ["http://b.example/before"],
        "p3": ["http://b.example/4"],
    }
    [error] = report.errors
    assert (error.kind, error.file) == ("outlink", "a.warc.gz")
    assert "the archive lacks the capture that the 1 outlinks" in error.message
    with open_archive() as engine:
        [entry] = engine.files()
        assert (entry.finished, entry.counts["errors"]) == (True, 1)


def test_metadata_in_another_file_is_joined_by_url_and_date(
    open_archive: Opener, tmp_path: Path
) -> None:
    first = write_records(
        tmp_path / "a.warc.gz", [response(f"p{n}", body(f"p{n}")) for n in range(4)]
    )
    there = outlinks("p1", "http://b.example/1", date="2015-01-01T00:00:00Z")
    second = write_records(tmp_path / "b.warc.gz", [there])
    imported(open_archive, first)
    report, links = imported(open_archive, second)
    assert report.errors == ()
    assert links == {"p0": [], "p1": ["http://b.example/1"], "p2": [], "p3": []}


def test_payloads_of_other_files_make_documents(open_archive: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "payloads"
    folder.mkdir()
    (folder / "p0.html").write_bytes(body("p0"))
    types = {"p0": "p0.html", "p1": "/etc/passwd"}
    records = [
        warc_bytes(
            "resource",
            b"Content-Type: text/html\r\n\r\n",
            id=name,
            url=f"http://a.example/{name}",
            content_type=f"message/external-body; access-type=local-file; name={file}",
        )
        for name, file in types.items()
    ]
    path = write_records(tmp_path / "a.warc.gz", records)
    with open_archive() as engine:
        engine.create()
        options = ImportOptions(jobs=1, external=(str(folder),))
        report = import_files(engine, settings_of(engine), expand([str(path)]), options)
        assert ask(engine, Term("", "page")) == {"p0"}
        assert ask(engine, Term("", "root")) == set()
    [error] = report.errors
    assert (error.kind, "/etc/passwd" in error.message) == ("external", True)
