"""nwx invert-links and nwx links."""

import csv
import io
from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.model import IndexName
from nwx.settings import Settings
from tests.cli.conftest import Nwx
from tests.inverted_links import write_inverted
from tests.warcs import Page, write_warc

TARGET = "http://target.example/report.pdf"
TEXT = '<a href="{url}">{text}</a>'


def _page(url: str, timestamp: str, *links: tuple[str, str]) -> Page:
    body = "".join(TEXT.format(url=target, text=text) for target, text in links)
    return Page(url, timestamp, f"<html><title>x</title><body>{body}".encode())


@pytest.fixture
def linked(nwx: Nwx, tmp_path: Path) -> Nwx:
    """Runs nwx on an archive of pages that link to each other and to URLs without captures."""
    pages = [
        _page("http://a.example/", "20100101000000", (TARGET, "annual report"), ("/2", "two")),
        _page("http://b.example/", "20120101000000", (TARGET, "annual report"), (TARGET, "x")),
        _page("http://b.example/2", "20120102000000", (TARGET, "=1+1\x1b[31m")),
        _page("http://target.example/", "20120102000000", (TARGET, "our report")),
        _page("http://www.a.example/", "20130101000000", ("http://a.example/", "self")),
    ]
    nwx("import", "--collection", "web", write_warc(tmp_path / "pages.warc.gz", pages))
    return nwx


def test_links_have_to_be_inverted_first(linked: Nwx) -> None:
    ran = linked("links", TARGET, code=1)
    assert "run `nwx invert-links` first" in ran.err


def test_links_that_were_inverted_elsewhere_are_loaded(linked: Nwx, tmp_path: Path) -> None:
    ran = linked("invert-links", "--from", tmp_path, code=1)
    assert f"{tmp_path} is not a complete output of `nwx spark links`" in ran.err
    with open_engine(Settings(str(tmp_path / "archive")), read_only=True) as engine:
        ids = [str(entry["id"]) for entry in engine.scan(IndexName.DOCUMENTS)]
        write_inverted(tmp_path / "links", list(engine.documents(ids).values())[:3])
    said = linked("invert-links", "--from", tmp_path / "links").out
    assert "6 links of 5 documents (3 loaded, 2 read) to 3 URLs" in said
    assert linked("invert-links", "--from", tmp_path / "links", "--json").json["loaded"] == 3


def test_the_report_counts_what_was_read(linked: Nwx) -> None:
    report = linked("invert-links", "--json").json
    assert {name: report[name] for name in ("documents", "read", "links", "targets")} == {
        "documents": 5,
        "read": 5,
        "links": 6,
        "targets": 3,
    }
    assert linked("invert-links", "--json").json["read"] == 0
    assert linked("invert-links", "--anew", "--json").json["read"] == 5
    assert "6 links of 5 documents (0 read) to 3 URLs" in linked("invert-links").out
    assert linked("check").code == 0


def test_json_has_the_agreed_shape(linked: Nwx) -> None:
    linked("invert-links", "--quiet")
    ran = linked("links", TARGET, "--in", "--json")
    assert ran.err == ""
    assert ran.json == {
        "url": TARGET,
        "documents": 4,
        "hosts": 3,
        "domains": 3,
        "first": "20100101000000",
        "last": "20120102000000",
        "anchors": [
            {"text": "annual report", "count": 2},
            {"text": "=1+1[31m", "count": 1},
            {"text": "our report", "count": 1},
        ],
        "from": [
            _row("http://a.example/", "20100101000000", "annual report"),
            # A page with the same link twice is listed with the first text.
            _row("http://b.example/", "20120101000000", "annual report"),
            _row("http://b.example/2", "20120102000000", "=1+1[31m"),
            _row("http://target.example/", "20120102000000", "our report"),
        ],
    }


def _row(url: str, timestamp: str, text: str) -> dict[str, str]:
    return {"url": url, "timestamp": timestamp, "kind": "a", "text": text}


def test_links_of_a_year_and_collection(linked: Nwx) -> None:
    linked("invert-links")
    assert linked("links", TARGET, "--year", 2010, "--json").json["documents"] == 1
    assert linked("links", TARGET, "--collection", "web", "--json").json["documents"] == 4
    assert linked("links", TARGET, "--collection", "other", "--json").json["documents"] == 0
    assert "no page links to it" in linked("links", TARGET, "--year", 1999).out


def test_links_of_a_url_to_itself_are_listed_only(linked: Nwx) -> None:
    linked("invert-links")
    found = linked("links", "http://a.example/", "--json").json
    assert found["documents"] == 0
    assert [one["url"] for one in found["from"]] == ["http://www.a.example/"]


def test_a_host_has_links_from_others(linked: Nwx) -> None:
    linked("invert-links")
    found = linked("links", "www.target.example", "--json").json
    assert (found["documents"], found["hosts"]) == (3, 2)
    rows = list(csv.DictReader(io.StringIO(linked("links", "target.example", "--csv").out)))
    assert {row["target"] for row in rows} == {"example,target)/report.pdf"}
    assert rows[-1]["text"] == "'=1+1[31m"


def test_outlinks_tell_what_was_captured(linked: Nwx) -> None:
    found = linked("links", "http://a.example/", "--out", "--year", 2010, "--json").json
    assert [(one["url"], one["captured"]) for one in found["to"]] == [
        (TARGET, False),
        ("http://a.example/2", False),
    ]
    assert "no outlinks" in linked("links", "http://nowhere.example/", "--out").out
    printed = linked("links", "a.example/", "--out").out
    assert "captured a          http://a.example/  self" in printed


def test_an_archive_that_changed_is_told(linked: Nwx, tmp_path: Path) -> None:
    linked("invert-links")
    more = [_page("http://c.example/", "20140101000000", (TARGET, "more"))]
    linked("import", "--collection", "web", write_warc(tmp_path / "more.warc.gz", more))
    ran = linked("links", TARGET, "--json")
    assert "run `nwx invert-links`" in ran.err
    assert ran.json["documents"] == 4
    assert linked("invert-links", "--json").json["read"] == 1
    assert linked("links", TARGET, "--json").json["documents"] == 5


def test_words_cannot_steer_a_terminal(linked: Nwx) -> None:
    linked("invert-links")
    ran = linked("links", TARGET)
    assert "linked from 4 pages on 3 hosts, 3 domains, 2010-01-01 to 2012-01-02" in ran.out
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("place", ["http://", "no host", "word", "a..b/\x00"])
def test_what_is_neither_url_nor_host_is_wrong_use(linked: Nwx, place: str) -> None:
    ran = linked("links", place.replace("\x00", " "), code=None)
    assert ran.code in (1, 2)
    assert "Traceback" not in ran.err


def test_dump_and_stats_know_the_index(linked: Nwx) -> None:
    linked("invert-links")
    entries = linked("dump", "inlinks").json_lines
    entry = next(one for one in entries if one["urlkey"].startswith("example,target"))
    assert entry["documents"] == 4
    assert entry["anchors"][0] == "annual report"
    assert entry["own_anchors"] == ["our report"]
    assert f" {len(entries)} " in linked("stats").out
