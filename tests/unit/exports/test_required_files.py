"""A package names the file of each original that it leaves out."""

from pathlib import Path

import nwx
from nwx.exports import PackOptions, WaczSelection
from tests.unit.checks.test_closure import AGAIN, FIRST, requires_of
from tests.warcs import write_warc


def test_the_warc_of_an_original_is_named(tmp_path: Path) -> None:
    first = write_warc(tmp_path / "first.warc.gz", [FIRST])
    again = write_warc(tmp_path / "again.warc.gz", [AGAIN])
    out = tmp_path / "out.wacz"
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_([first, again])
        later = WaczSelection(date_from="20250101000000", with_originals=False)
        archive.export_wacz(out, later, PackOptions())
        (one,) = requires_of(out)
        assert (one["filename"], one["size"]) == ("first.warc.gz", first.stat().st_size)
        first.unlink()
        archive.export_wacz(out, later, PackOptions())
        assert requires_of(out) == [{"filename": "first.warc.gz", "crawlId": "default"}]
