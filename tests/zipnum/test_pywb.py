"""A real pywb reads our clusters as they are, on every page."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nwx.dedup.planning import Resources
from nwx.dedup.rawblocks import CdxSource
from nwx.zipnum.building import BuildOptions, build
from nwx.zipnum.repairing import repair
from nwx.zipnum.updating import merge

HOST = "org,example"
LINES_A_BLOCK = 20
_SECONDS_TO_START = 90


def _line(page: int, capture: int) -> bytes:
    url = f"http://example.org/page/{page:04d}"
    values = {
        "url": url,
        "mime": "text/html",
        "status": "200",
        "digest": f"{page:032d}",
        "length": "500",
        "offset": str(page * 100 + capture),
        "filename": "crawl.warc.gz",
    }
    key = f"{HOST})/page/{page:04d} {20200101000000 + capture}"
    return f"{key} {json.dumps(values)}".encode()


PAGES = sorted(_line(page, capture) for page in range(300) for capture in range(3))
"""900 lines: 45 blocks, over four pages of ten blocks."""
ONE = [_line(9999, capture) for capture in range(600)]
"""One URL in 30 blocks."""
OTHERS = [b"com,first)/ 20200101000000 " + PAGES[0].split(b" ", 2)[2]]
OTHERS += [b"zz,last)/ 20200101000000 " + PAGES[0].split(b" ", 2)[2]]
LINES = sorted([*PAGES, *ONE, *OTHERS])


@dataclass(frozen=True, slots=True)
class Pywb:
    """A running pywb."""

    address: str

    def ask(self, collection: str, **query: str) -> str:
        """Return what its CDX server answers."""
        url = f"{self.address}/{collection}/cdx?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=60) as answer:
            return str(answer.read().decode())

    def places(self, collection: str, **query: str) -> list[int]:
        """Return the offsets of the captures that it finds."""
        lines = self.ask(collection, **query).splitlines()
        return [int(json.loads(line.split(" ", 2)[2])["offset"]) for line in lines]

    def all_pages(self, collection: str, **query: str) -> list[int]:
        """Return the offsets of the captures of all pages; an answer has one page."""
        pages = self.page_count(collection, **query)["pages"]
        found = [self.places(collection, page=str(page), **query) for page in range(pages)]
        return [place for places in found for place in places]

    def page_count(self, collection: str, **query: str) -> Any:
        """Return what it says on the number of pages."""
        return json.loads(self.ask(collection, showNumPages="true", **query))


def _build(folder: Path, lines: list[bytes], work: Path) -> None:
    source = work / f"{folder.parent.name}.cdxj"
    source.write_bytes(b"\n".join([*lines, b""]))
    options = BuildOptions(shards=3, lines_a_block=LINES_A_BLOCK)
    build(folder, [CdxSource(str(source))], options, Resources(workers=1))


@pytest.fixture(scope="module")
def pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    """A pywb whose collections hold the same lines, as they were built, merged and repaired."""
    root = tmp_path_factory.mktemp("pywb")
    folders = [root / "collections" / name / "indexes" for name in ("built", "merged", "repaired")]
    for folder in folders:
        (folder.parent / "archive").mkdir(parents=True)
    _build(folders[0], LINES, root)
    _build(folders[1], LINES[::2], root)
    (root / "more.cdxj").write_bytes(b"\n".join([*LINES[1::2], b""]))
    more = [CdxSource(str(root / "more.cdxj"))]
    merge(folders[1], more, Resources(workers=1), lines_a_block=LINES_A_BLOCK)
    _build(folders[2], LINES, root)
    (folders[2] / "cluster.idx").unlink()
    repair(folders[2], Resources(workers=1))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).parent / "pywb"), "-b", "127.0.0.1", "-p", str(port)]
    with (root / "log").open("wb") as log:
        environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
        process = subprocess.Popen(command, cwd=root, stdout=log, stderr=log, env=environment)
    try:
        _wait(port, process, root / "log")
        yield Pywb(f"http://127.0.0.1:{port}")
    finally:
        process.terminate()
        process.wait()


def _wait(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    end = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail(f"pywb did not start: {log.read_text()[-2000:]}")


COLLECTIONS = pytest.mark.parametrize("collection", ["built", "merged", "repaired"])


@COLLECTIONS
def test_captures_of_one_url_over_many_blocks(pywb: Pywb, collection: str) -> None:
    url = "http://example.org/page/9999"
    assert pywb.all_pages(collection, url=url) == [999900 + capture for capture in range(600)]
    assert pywb.places(collection, url="http://example.org/page/0007") == [700, 701, 702]
    assert pywb.places(collection, url="http://first.com/") == [0]
    assert pywb.places(collection, url="http://last.zz/") == [0]
    assert pywb.places(collection, url="http://example.org/nothing") == []


@COLLECTIONS
def test_a_prefix_over_more_than_ten_blocks_page_by_page(pywb: Pywb, collection: str) -> None:
    query = {"url": "http://example.org/page/0*"}
    assert pywb.page_count(collection, **query)["pages"] > 4
    found = pywb.all_pages(collection, **query)
    assert found == [page * 100 + capture for page in range(300) for capture in range(3)]


@COLLECTIONS
def test_all_pages_of_all_captures_of_a_host(pywb: Pywb, collection: str) -> None:
    query = {"url": "example.org", "matchType": "host", "pageSize": "7"}
    assert len(pywb.all_pages(collection, **query)) == len(PAGES) + len(ONE)


def test_pages_are_counted_by_line_numbers_over_all_files(pywb: Pywb) -> None:
    count = pywb.page_count("built", url="http://example.org/page/*")
    assert count["blocks"] >= (len(PAGES) + len(ONE)) / LINES_A_BLOCK
    assert count["pages"] == -(-count["blocks"] // 10)
