"""nwx export results, and nwx wacz --with-resources from the command line."""

import csv
import io
from pathlib import Path

from tests.cli.conftest import Nwx
from tests.warcs import Page, html, write_warc

PAGE = Page(
    "http://a.example/page", "20100101000000", html("Slate", 'quarry <img src="/image.png">')
)
IMAGE = Page("http://a.example/image.png", "20110101000000", b"image", content_type="image/png")


def test_results_are_written_in_each_form(nwx: Nwx, tmp_path: Path) -> None:
    nwx("import", write_warc(tmp_path / "a.warc.gz", [PAGE, IMAGE]))
    table = nwx("export", "results", "-", "quarry", "--format", "csv", "--field", "url").out
    assert list(csv.reader(io.StringIO(table))) == [["url"], [PAGE.url]]
    assert nwx("export", "results", tmp_path / "out.txt", "quarry").out.startswith("1 result in ")
    assert (tmp_path / "out.txt").read_text() == f"{PAGE.url}\n"
    assert nwx("export", "results", tmp_path / "out.txt", "quarry", "--json").json == {"results": 1}
    packed = nwx("export", "results", tmp_path / "out.warc.gz", "quarry", "--json").json
    assert (packed["captures"], packed["missing"]) == (1, 0)
    out = tmp_path / "with.warc.gz"
    for command in (("export", "results", out), ("wacz", tmp_path / "a.wacz")):
        report = nwx(*command, "quarry", "--with-resources", "--json").json
        assert (report["captures"], report["missing"]) == (2, 0)


def test_wrong_uses_are_told(nwx: Nwx, tmp_path: Path) -> None:
    assert "name it .csv" in nwx("export", "results", tmp_path / "out", "x", code=2).err
    assert "of `nwx export results`" in nwx("export", "captures", tmp_path / "out", "x", code=2).err
    assert (
        "--field applies only"
        in nwx("export", "results", "o.txt", "x", "--field", "url", code=2).err
    )
