"""nwx export links."""

from pathlib import Path

from tests.cli.conftest import Nwx
from tests.warcs import Page, write_warc

PAGES = [
    Page("http://a.test/", "20100101000000", b"<a href=http://b.test/>B</a><img src=i.png>"),
    Page("http://c.test/", "20110101000000", b"<a href=http://b.test/>B</a>"),
]


def test_links_are_written_for_other_programs(nwx: Nwx, tmp_path: Path) -> None:
    nwx("import", write_warc(tmp_path / "pages.warc.gz", PAGES))
    assert "invert-links" in nwx("export", "links", tmp_path / "no", code=1).err
    nwx("invert-links")
    ran = nwx("export", "links", tmp_path / "out")
    assert ran.out.startswith("3 links, 3 hosts with 2 edges, 3 domains with 2 edges in 15 files")
    assert (tmp_path / "out" / "web-graph" / "hosts" / "edges.txt.gz").exists()
    some = nwx("export", "links", tmp_path / "csv", "--format", "csv", "--year", "2011", "--json")
    assert (some.json["links"], some.json["hosts"], some.json["files"]) == (0, 2, 4)
    assert (tmp_path / "csv" / "host_links.csv").read_text().splitlines()[1] == "c.test,b.test,1"


def test_options_of_links_are_not_those_of_captures(nwx: Nwx, tmp_path: Path) -> None:
    ran = nwx("export", "captures", tmp_path / "out", "--year", "2011", code=2)
    assert "nwx export links" in ran.err
