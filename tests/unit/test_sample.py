"""The committed sample archive equals the output of its script, and has the documented content."""

import gzip
import subprocess
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

SAMPLE = Path(__file__).parent.parent.parent / "sample"
CAPTURES = {"response", "revisit", "resource", "conversion"}
ABOUT_YEARS = ("2010", "2013", "2015")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a newly generated archive."""
    folder = tmp_path_factory.mktemp("sample")
    script = SAMPLE / "make_sample.py"
    subprocess.run([sys.executable, "-W", "error", str(script), str(folder)], check=True)
    return folder / "archive"


def test_names_are_the_committed_ones(made: Path) -> None:
    committed = sorted(path.name for path in (SAMPLE / "archive").iterdir())
    assert sorted(path.name for path in made.iterdir()) == committed
    assert len(committed) == 7


@pytest.mark.skipif(
    "ng" in zlib.ZLIB_RUNTIME_VERSION, reason="zlib-ng packs the same data into other bytes"
)
def test_bytes_are_the_committed_ones(made: Path) -> None:
    for path in made.iterdir():
        assert path.read_bytes() == (SAMPLE / "archive" / path.name).read_bytes(), path.name


def test_contents_are_the_committed_ones(made: Path) -> None:
    for path in made.glob("*.gz"):
        committed = SAMPLE / "archive" / path.name
        assert gzip.decompress(path.read_bytes()) == gzip.decompress(committed.read_bytes())


def test_it_is_small() -> None:
    files = [path for path in SAMPLE.rglob("*") if path.is_file()]
    committed = [path for path in files if "__pycache__" not in path.parts]
    assert sum(path.stat().st_size for path in committed) < 600_000


def _records(path: Path) -> Iterator[ArcWarcRecord]:
    data = path.read_bytes()
    if path.suffix == ".wacz":
        data = ZipFile(path).read("archive/data.warc.gz")
    iterator = ArchiveIterator(BytesIO(data), check_digests="raise", arc2warc=True)
    for record in iterator:
        record.content_stream().read()
        yield record


def test_it_holds_what_it_promises(made: Path) -> None:
    types: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    urls, contents, years = set(), {}, set()
    for path in sorted(made.iterdir()):
        for record in _records(path):
            types[record.rec_type] += 1
            if record.rec_type in CAPTURES:
                url, year = (
                    record.rec_headers["WARC-Target-URI"],
                    record.rec_headers["WARC-Date"][:4],
                )
                urls.add(url)
                years.add(year)
                if record.http_headers:
                    statuses[record.http_headers.get_statuscode()] += 1
                if digest := record.rec_headers.get_header("WARC-Payload-Digest"):
                    contents[url, year] = digest
    assert sum(types[kind] for kind in CAPTURES) >= 400
    assert len(urls) >= 60
    assert len(years) == 7
    assert {"200", "301", "302", "304", "404", "500"} <= set(statuses)
    assert types["request"] and types["metadata"] and types["resource"] and types["conversion"]
    about = [contents["http://www.lantern.example/about.html", year] for year in ABOUT_YEARS]
    assert about[0] == about[2] != about[1], "the page of 2010 is back in 2015"


def test_revisits_refer_to_earlier_captures(made: Path) -> None:
    seen: set[tuple[str, str]] = set()
    elsewhere = 0
    for path in sorted(made.iterdir()):
        for record in _records(path):
            url, date = record.rec_headers["WARC-Target-URI"], record.rec_headers["WARC-Date"]
            if record.rec_type == "revisit":
                first = record.rec_headers["WARC-Refers-To-Target-URI"]
                assert (first, record.rec_headers["WARC-Refers-To-Date"]) in seen
                elsewhere += first != url
            elif record.rec_type == "response":
                seen.add((url, date))
    assert elsewhere >= 1
