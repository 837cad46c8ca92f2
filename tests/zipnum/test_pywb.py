"""A real pywb reads our clusters unchanged, on every page."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.bulk.resources import Resources
from nwx.cdx.inputs import CdxSource
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.builds import build_cluster
from nwx.zipnum.merges import merge_lines
from nwx.zipnum.repairs import repair_cluster
from tests.zipnum.pywb import Pywb, running_pywb

HOST = "org,example"
LINES_A_BLOCK = 20


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
"""900 lines: 45 blocks, more than four pages of ten blocks."""
ONE = [_line(9999, capture) for capture in range(600)]
"""One URL in 30 blocks."""
OTHERS = [b"com,first)/ 20200101000000 " + PAGES[0].split(b" ", 2)[2]]
OTHERS += [b"zz,last)/ 20200101000000 " + PAGES[0].split(b" ", 2)[2]]
LINES = sorted([*PAGES, *ONE, *OTHERS])


def _build(folder: Path, lines: list[bytes], work: Path) -> None:
    source = work / f"{folder.parent.name}.cdxj"
    source.write_bytes(b"\n".join([*lines, b""]))
    options = ClusterBuildOptions(shards=3, lines_a_block=LINES_A_BLOCK)
    build_cluster(folder, [CdxSource(str(source))], options, Resources(workers=1))


@pytest.fixture(scope="module")
def pywb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pywb]:
    """A pywb with collections of the same lines, in clusters built, merged and repaired."""
    root = tmp_path_factory.mktemp("pywb")
    folders = [root / "collections" / name / "indexes" for name in ("built", "merged", "repaired")]
    for folder in folders:
        (folder.parent / "archive").mkdir(parents=True)
    _build(folders[0], LINES, root)
    _build(folders[1], LINES[::2], root)
    (root / "more.cdxj").write_bytes(b"\n".join([*LINES[1::2], b""]))
    more = [CdxSource(str(root / "more.cdxj"))]
    merge_lines(folders[1], more, Resources(workers=1), lines_a_block=LINES_A_BLOCK)
    _build(folders[2], LINES, root)
    (folders[2] / "cluster.idx").unlink()
    repair_cluster(folders[2], Resources(workers=1))
    with running_pywb(root) as running:
        yield running


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
