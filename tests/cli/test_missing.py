"""nwx missing."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.warcs import Page, write_warc

STYLE = b"@import 'more.css'; body { background: url(sky.png) }"
PAGES = [
    Page(
        "http://a.test/",
        "20100101000000",
        b"<link rel=stylesheet href=s.css><img src=i.png srcset='j.png 2x'>"
        b"<iframe src=//ads.test/f></iframe><a href=/next>next</a>",
    ),
    Page("http://a.test/2", "20110101000000", b"<link rel=stylesheet href=s.css><img src=i.png>"),
    Page("http://a.test/s.css", "20100101000000", STYLE, "text/css"),
    Page("http://a.test/j.png", "20100101000000", b"no", "text/plain", status="404 Not Found"),
    Page("http://a.test/next", "20100101000000", b"<a href=ftp://f.test/=x>f</a>"),
]


@pytest.fixture
def archive(nwx: Nwx, tmp_path: Path) -> Nwx:
    nwx("import", write_warc(tmp_path / "pages.warc.gz", PAGES))
    nwx("invert-links")
    return nwx


def test_missing_urls_are_listed_for_a_crawler(archive: Nwx) -> None:
    ran = archive("missing")
    assert ran.out.splitlines() == [
        "http://a.test/i.png",
        "http://a.test/more.css",
        "http://a.test/sky.png",
        "http://a.test/j.png",
        "http://ads.test/f",
        "ftp://f.test/=x",
    ]
    assert ran.err == ""
    seeds = archive("missing", "--seeds", "--limit", "9").out.splitlines()
    assert seeds == ran.out.splitlines()[:5]


def test_missing_urls_as_json_and_csv(archive: Nwx) -> None:
    found = archive("missing", "--json", "--kind", "embedded", "--host", "a.test").json
    assert found == [
        {"url": "http://a.test/i.png", "kind": "img", "pages": 2, "status": None},
        {"url": "http://a.test/more.css", "kind": "stylesheet", "pages": 2, "status": None},
        {"url": "http://a.test/sky.png", "kind": "css", "pages": 2, "status": None},
        {"url": "http://a.test/j.png", "kind": "img", "pages": 1, "status": 404},
    ]
    assert archive("missing", "--json", "--kind", "embedded", "--host", "A.Test.").json == found
    assert archive("missing", "--json", "--site", "nowhere.test").json == []
    lines = archive("missing", "--csv", "--kind", "a").out.splitlines()
    assert lines == ["url,kind,pages,status", "ftp://f.test/=x,a,1,"]
    early = json.loads(archive("missing", "--json", "--kind", "img", "--to", "2010").out)
    assert [one["pages"] for one in early] == [1, 1]


def test_wrong_use_and_older_links(archive: Nwx, tmp_path: Path) -> None:
    assert "mutually exclusive" in archive("missing", "--csv", "--json", code=2).err
    assert "not a date" in archive("missing", "--from", "yesterday", code=2).err
    more = write_warc(tmp_path / "more.warc.gz", [Page("http://b.test/", "20120101000000", b"x")])
    archive("import", more)
    assert "since the last `nwx invert-links`" in archive("missing").err


def test_originals_of_revisits(nwx: Nwx, tmp_path: Path) -> None:
    pages = [
        Page("http://b.test/", "20100101000000", b"<p>one"),
        Page("http://c.test/", "20100101000000", b"<p>two", revisit=True),
    ]
    nwx("import", write_warc(tmp_path / "revisit.warc.gz", pages))
    (found,) = nwx("missing", "--originals", "--json").json
    assert (found["url"], found["revisits"]) == ("http://c.test/", 1)
    head, line = nwx("missing", "--originals", "--csv").out.splitlines()
    assert head == "url,timestamp,digest,revisits"
    assert line.startswith("http://c.test/,")
    assert nwx("missing", "--originals").out.startswith("http://c.test/  ")
    assert "--limit" in nwx("missing", "--originals", "--kind", "img", code=2).err
