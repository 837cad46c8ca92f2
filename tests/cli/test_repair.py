"""nwx repair."""

from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.quality_index import Fault, PlaybackScore
from nwx.keys import capture_id
from nwx.values.render_names import FaultKind
from tests.cli.conftest import Nwx
from tests.warcs import Page, write_warc

STYLED = b"<link rel=stylesheet href=s.css><img src=%s>"
PAGES = [
    Page("http://a.test/", "20100101000000", STYLED % b"i.png"),
    Page("http://a.test/2", "20110101000000", STYLED % b"i.png"),
    Page("http://a.test/3", "20110101000000", b"<img src=j.png><a href=/next>next</a>"),
]


@pytest.fixture
def archive(nwx: Nwx, tmp_path: Path) -> Nwx:
    nwx("import", write_warc(tmp_path / "pages.warc.gz", PAGES))
    nwx("invert-links")
    return nwx


def check(place: Path) -> None:
    """Store a check of the third page that reports a missing script."""
    with EmbeddedEngine(place) as engine:
        (of,) = engine.captures("test,a)/3")
        id = capture_id(of.collection, of.source_file, of.source_file_offset)
        fault = Fault(FaultKind.MISSING, "http://a.test/s.js")
        engine.quality_index().put(
            [
                PlaybackScore(
                    *(id, of.collection, of.url, of.urlkey, of.host, of.domain, of.timestamp),
                    *("20260101000000", "1", 0.5),
                    faults=(fault,),
                    faults_total=1,
                    resources=("test,a)/s.js",),
                )
            ]
        )


def test_repairs_are_listed_for_a_crawler(archive: Nwx) -> None:
    ran = archive("repair")
    assert ran.out.splitlines() == [
        "http://a.test/i.png",
        "http://a.test/s.css",
        "http://a.test/j.png",
    ]
    assert "no matching page was checked" in ran.err


def test_repairs_as_json_and_csv(archive: Nwx, tmp_path: Path) -> None:
    check(tmp_path / "archive")
    found = archive("repair", "--json").json
    assert found["pages"] == 3
    assert found["resources"] == 4
    assert found["checked"] == 1
    assert found["linked"] is True
    rows = [tuple(one.values()) for one in found["repairs"]]
    assert rows == [
        ("http://a.test/i.png", "img", 2, 0, 0, None, ""),
        ("http://a.test/s.css", "stylesheet", 2, 2, 0, None, ""),
        ("http://a.test/j.png", "img", 1, 0, 0, None, ""),
        ("http://a.test/s.js", "script", 1, 1, 1, None, ""),
    ]
    lines = archive("repair", "--csv", "--kind", "script", "--kind", "stylesheet").out.splitlines()
    assert lines == [
        "url,kind,pages,whole,checked,status,original,verdict,note,reviewer",
        "http://a.test/s.css,stylesheet,2,2,0,,,,,",
        "http://a.test/s.js,script,1,1,1,,,,,",
    ]


def test_seeds_of_crawlers(archive: Nwx) -> None:
    seeds = archive("repair", "--seeds", "--limit", "2").out.splitlines()
    assert seeds == ["http://a.test/i.png", "http://a.test/s.css"]
    lines = archive("repair", "--seeds", "browsertrix", "--limit", "1").out.splitlines()
    assert lines[-1] == '  - url: "http://a.test/i.png"'


def test_repairs_go_into_the_queue(archive: Nwx) -> None:
    put = archive("repair", "--queue", "--crawl", "mend")
    assert "3 URLs put into the queue" in put.err
    queued = archive("queue", "list", "--crawl", "mend").out.splitlines()
    assert [line.split()[-2] for line in queued] == [
        "http://a.test/i.png",
        "http://a.test/s.css",
        "http://a.test/j.png",
    ]
    priorities = [float(line.split()[0]) for line in queued]
    assert priorities == sorted(set(priorities), reverse=True)
    sent = archive("repair", "--queue", "http://127.0.0.1:9/urls", "--limit", "1")
    assert "1 URL waits for http://127.0.0.1:9/urls in the outbox" in sent.err


def test_what_was_captured_since_is_left_out(archive: Nwx, tmp_path: Path) -> None:
    more = [Page("https://www.a.test/i.png", "20120101000000", b"x", "image/png")]
    archive("import", write_warc(tmp_path / "more.warc.gz", more))
    ran = archive("repair")
    assert ran.out.splitlines() == ["http://a.test/s.css", "http://a.test/j.png"]
    assert "since the last `nwx invert-links`" in ran.err


def test_an_archive_of_which_nothing_is_known(nwx: Nwx, tmp_path: Path) -> None:
    nwx("import", write_warc(tmp_path / "pages.warc.gz", PAGES))
    ran = nwx("repair", "--json")
    assert ran.json["repairs"] == []
    assert "links were never inverted" in ran.err


def test_wrong_use(nwx: Nwx) -> None:
    assert "mutually exclusive" in nwx("repair", "--csv", "--seeds", code=2).err
    assert "--queue" in nwx("repair", "--crawl", "x", code=2).err
