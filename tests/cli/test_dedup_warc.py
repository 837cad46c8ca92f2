"""nwx dedup-warc."""

import gzip
import hashlib
import shutil
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

from tests.cli.conftest import Nwx
from tests.warcs import Page, warc_record, write_warc
from tests.zipnum.pywb import running_pywb

BIN = Path(sys.executable).parent

BODY = b"".join(hashlib.sha256(bytes([n])).hexdigest().encode() for n in range(100))
PAGES = [
    Page("http://www.example.org/", "20200101000000", BODY),
    Page("http://www.example.org/", "20210101000000", BODY),
    Page("http://www.example.org/", "20220101000000", BODY + b"changed"),
]

ZIPPED = gzip.compress(BODY, mtime=0)
ZIPPED_TYPE = "text/html\r\nContent-Encoding: gzip"
DATES = ("20200101000000", "20210101000000")


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
    assert ran.out.startswith("1 file, 0 duplicates became revisits, ")
    assert "1 line of the lists matched no capture" in ran.out
    assert (tmp_path / "new" / "crawl.warc.gz").read_bytes() == old.read_bytes()
    again = nwx("dedup-warc", "-e", lines, "-o", tmp_path / "new", old)
    assert again.out == ran.out


def test_captures_of_one_second_leave_an_original_for_the_later_ones(
    nwx: Nwx, tmp_path: Path
) -> None:
    old = write_warc(tmp_path / "crawl.warc.gz", [PAGES[0], *PAGES])
    nwx("cdx", "-o", tmp_path / "crawl.cdx", old)
    listing = nwx("dedup-cdx", "-o", tmp_path / "list.dup", tmp_path / "crawl.cdx")
    assert "1 duplicate, 1 of the same second as the one kept" in listing.out
    report = nwx("dedup-warc", "-e", tmp_path / "list.dup", "-o", tmp_path / "n", "--json", old)
    assert (report.json["revisits"], report.json["left"]) == (1, [])


def test_a_wacz_without_warcs_is_named(nwx: Nwx, tmp_path: Path) -> None:
    zipfile.ZipFile(tmp_path / "empty.wacz", "w").close()
    lines = listed(tmp_path / "list.dup", PAGES[1])
    ran = nwx("dedup-warc", "-e", lines, "-o", tmp_path / "new", tmp_path, code=1)
    assert "empty.wacz: there is no WARC" in ran.err


def collection(root: Path, name: str, warcs: list[Path], nwx: Nwx) -> None:
    """Create a pywb collection."""
    folder = root / "collections" / name
    for part in ("archive", "indexes"):
        (folder / part).mkdir(parents=True)
    for warc in warcs:
        shutil.copyfile(warc, folder / "archive" / warc.name)
    nwx("cdx", "--cdxj", "--quiet", "-o", folder / "indexes" / "index.cdxj", *warcs)


def test_warcio_and_pywb_find_in_the_new_files_what_was_in_the_old(
    nwx: Nwx, tmp_path: Path
) -> None:
    """For one URL and two, within and between files, with and without content encoding."""
    pages = [
        *PAGES,
        Page("http://www.example.org/copy", "20210601000000", BODY),
        *(Page(f"{PAGES[0].url}zip", date, ZIPPED, ZIPPED_TYPE) for date in DATES),
    ]
    records = [warc_record(page) for page in pages]
    olds = [tmp_path / "old" / name for name in ("a.warc.gz", "b.warc")]
    olds[0].parent.mkdir()
    olds[0].write_bytes(b"".join(gzip.compress(record, mtime=0) for record in records[::2]))
    olds[1].write_bytes(b"".join(records[1::2]))
    nwx("cdx", "-o", tmp_path / "crawl.cdx", *olds)
    nwx("dedup-cdx", "--key", "digest", "-o", tmp_path / "list.dup", tmp_path / "crawl.cdx")
    out = tmp_path / "new"
    report = nwx("dedup-warc", "-e", tmp_path / "list.dup", "-o", out, "--json", *olds).json
    assert (report["revisits"], report["left"]) == (3, [])
    news = [out / old.name for old in olds]
    for new in news:
        subprocess.run([BIN / "warcio", "check", new], check=True)
    collection(tmp_path, "old", olds, nwx)
    collection(tmp_path, "new", news, nwx)
    with running_pywb(tmp_path) as pywb:
        for page in pages:
            found = [
                replayed(f"{pywb.address}/{name}/{page.timestamp}id_/{page.url}")
                for name in ("new", "old")
            ]
            assert found[0] == found[1]
            assert BODY in found[0]


def replayed(address: str) -> bytes:
    """Return the payload at an address, ignoring a declared content encoding."""
    with urllib.request.urlopen(address, timeout=60) as answer:
        body = bytes(answer.read())
        return gzip.decompress(body) if answer.headers["Content-Encoding"] == "gzip" else body


def test_wrong_use(nwx: Nwx, tmp_path: Path) -> None:
    lines = listed(tmp_path / "list.dup", PAGES[1])
    assert "nothing to rewrite" in nwx("dedup-warc", "-e", lines, "-o", tmp_path / "n", code=2).err
    missing = tmp_path / "no.warc.gz"
    assert "no.warc.gz" in nwx("dedup-warc", "-e", lines, "-o", tmp_path, missing, code=1).err
    old = write_warc(tmp_path / "crawl.warc.gz", PAGES)
    assert "already exists" in nwx("dedup-warc", "-e", lines, "-o", tmp_path, old, code=1).err


def test_originals_have_either_digest(nwx: Nwx, tmp_path: Path) -> None:
    first, second = PAGES[:2]
    own, other = first.digest, f"sha256:{hashlib.sha256(BODY).hexdigest()}"
    old = write_warc(tmp_path / "old.warc", [first], compressed=False)
    new = write_warc(tmp_path / "new.warc", [second], compressed=False)
    new.write_bytes(new.read_bytes().replace(own.encode(), other.encode()))
    for number, digest in enumerate((own, other)):
        lines = tmp_path / "list.dup"
        lines.write_text(f"{second.timestamp} {digest} {second.url}\n")
        out = tmp_path / f"out{number}"
        ran = nwx("dedup-warc", "-e", lines, "-o", out, "--json", old, new)
        assert (ran.json["revisits"], ran.json["left"]) == (1, []), digest
        assert other.encode() in (out / "new.warc").read_bytes()
