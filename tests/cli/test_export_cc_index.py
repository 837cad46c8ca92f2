"""nwx export cc-index."""

from pathlib import Path

from tests.cc_index_table import made_lines
from tests.cli.conftest import Nwx
from tests.warcs import Page, write_warc

PAGES = [Page("http://a.test/", "20100101000000", b"A")]


def test_the_index_is_of_an_archive_or_of_cdx_files(nwx: Nwx, tmp_path: Path) -> None:
    cdx = tmp_path / "all.cdxj"
    cdx.write_text("\n".join([*made_lines(), "org,a)/ 20150101000000 {", ""]))
    ran = nwx("export", "cc-index", tmp_path / "cdx", "--cdx", cdx)
    assert ran.out.startswith("12 captures in 2 files, 1 left out, ")
    assert "JSON" in ran.err
    nwx("import", write_warc(tmp_path / "pages.warc.gz", PAGES))
    ran = nwx("export", "cc-index", tmp_path / "out", "--crawl", "ours", "--json")
    assert (ran.json["rows"], ran.json["files"]) == (1, 1)
    assert (tmp_path / "out/crawl=ours/subset=warc/part-00000.parquet").exists()
    ran = nwx("export", "links", tmp_path / "no", "--cdx", cdx, code=2)
    assert "--cdx is an option of `nwx export cc-index`" in ran.err


def test_a_capture_that_is_left_out_is_named(nwx: Nwx, tmp_path: Path) -> None:
    cdx = tmp_path / "all.cdx"
    values = "200 - - - 5 3000000000 big.warc.gz"
    cdx.write_text(f"org,a)/ 20150101000000 http://a.org/ text/html {values}\n")
    ran = nwx("export", "cc-index", tmp_path / "out", "--cdx", cdx, code=1)
    assert "nwx: org,a)/: " in ran.err
    assert "big.warc.gz at 3000000000" in ran.err
