"""nwx dedup-warc."""

import hashlib
from pathlib import Path

from tests.cli.conftest import Nwx
from tests.warcs import Page, write_warc

BODY = b"".join(hashlib.sha256(bytes([n])).hexdigest().encode() for n in range(100))
PAGES = [
    Page("http://www.example.org/", "20200101000000", BODY),
    Page("http://www.example.org/", "20210101000000", BODY),
    Page("http://www.example.org/", "20220101000000", BODY + b"changed"),
]


def listed(path: Path, *pages: Page) -> Path:
    path.write_text("".join(f"{p.timestamp} {p.digest} {p.url}\n" for p in pages))
    return path


def test_duplicates_become_revisits_that_import_as_dates(nwx: Nwx, tmp_path: Path) -> None:
    old = write_warc(tmp_path / "crawl.warc.gz", PAGES)
    lines = listed(tmp_path / "list.dup", PAGES[1])
    ran = nwx("dedup-warc", "-e", lines, "-o", tmp_path / "new", "--json", old)
    report = ran.json
    assert (report["files"], report["revisits"], report["left"]) == (1, 1, [])
    assert report["bytes_after"] == (tmp_path / "new" / "crawl.warc.gz").stat().st_size
    assert report["bytes_after"] < report["bytes_before"] == old.stat().st_size
    nwx("import", tmp_path / "new")
    hits = nwx("search", "url:http://www.example.org/", "--all-versions", "--json").json["hits"]
    assert sorted(hit["dates"] for hit in hits) == [
        ["20200101000000", "20210101000000"],
        ["20220101000000"],
    ]


def test_what_is_left_and_what_was_met_nowhere_is_told(nwx: Nwx, tmp_path: Path) -> None:
    old = write_warc(tmp_path / "crawl.warc.gz", PAGES)
    stranger = Page("http://elsewhere.example/", "20200101000000", b"x")
    lines = listed(tmp_path / "list.dup", PAGES[2], stranger)
    ran = nwx("dedup-warc", "-e", lines, "-o", tmp_path / "new", old)
    assert "no original" in ran.err
    assert "1 lines of the lists were met nowhere" in ran.out
    assert (tmp_path / "new" / "crawl.warc.gz").read_bytes() == old.read_bytes()


def test_captures_of_one_second_leave_an_original_for_the_later_ones(
    nwx: Nwx, tmp_path: Path
) -> None:
    old = write_warc(tmp_path / "crawl.warc.gz", [PAGES[0], *PAGES])
    nwx("cdx", "-o", tmp_path / "crawl.cdx", old)
    listing = nwx("dedup-cdx", "-o", tmp_path / "list.dup", tmp_path / "crawl.cdx")
    assert "1 duplicates, 1 of the same second as the one kept" in listing.out
    report = nwx("dedup-warc", "-e", tmp_path / "list.dup", "-o", tmp_path / "n", "--json", old)
    assert (report.json["revisits"], report.json["left"]) == (1, [])


def test_wrong_use(nwx: Nwx, tmp_path: Path) -> None:
    lines = listed(tmp_path / "list.dup", PAGES[1])
    assert "nothing to write" in nwx("dedup-warc", "-e", lines, "-o", tmp_path / "n", code=2).err
    missing = tmp_path / "no.warc.gz"
    assert "no.warc.gz" in nwx("dedup-warc", "-e", lines, "-o", tmp_path, missing, code=2).err
    old = write_warc(tmp_path / "crawl.warc.gz", PAGES)
    assert "is there already" in nwx("dedup-warc", "-e", lines, "-o", tmp_path, old, code=1).err
