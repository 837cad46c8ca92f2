"""Clients of other CDX servers, in their usual form, get all captures from nwx."""

import json
import subprocess
from collections.abc import Iterator

import pytest
import requests

from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import open_sources
from tests.environments import CDX_CLIENTS, prepare
from tests.web.serving import serving
from webapp.cdx.service import CdxService
from webapp.server.small_servers import create_cdx_app

pytestmark = pytest.mark.xdist_group("cdx clients")

YEARS = range(1996, 2026)
DIGEST = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYD"

WAYBACK = """
import datetime, json, sys
import wayback, wayback._client as client
address, options = sys.argv[1], json.loads(sys.argv[2])
client.CDX_SEARCH_URL = address
session = wayback.WaybackSession(search_calls_per_second=0, retries=0)
found = wayback.WaybackClient(session).search("http://a.example/é?q=1 2", **options)
print(json.dumps([[one.timestamp.year, one.mime_type, one.status_code] for one in found]))
"""
TOOLKIT = """
import json, sys
import cdx_toolkit
address, options = sys.argv[1], json.loads(sys.argv[2])
fetcher = cdx_toolkit.CDXFetcher(source=address)
pages = fetcher.get_size_estimate("a.example/*", as_pages=True, pageSize=1)
found = fetcher.iter("a.example/*", pageSize=1, **options)
print(json.dumps([pages > 0, [int(one["timestamp"][:4]) for one in found]]))
"""


def _line(year: int) -> str:
    revisit = year % 2
    kind = ("warc/revisit", "-") if revisit else ("text/html", "200")
    place = f"{100 + revisit} {year} a.warc.gz"
    return f"example,a)/%c3%a9?q=1%202 {year}0101000000 http://a.example/%C3%A9?q=1%202 " + (
        f"{kind[0]} {kind[1]} {DIGEST} - - {place}\n"
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a CDX server on a sorted file."""
    path = tmp_path_factory.mktemp("clients") / "captures.cdx"
    path.write_text(" CDX N b a m s k r M S V g\n" + "".join(map(_line, YEARS)))
    sources = open_sources((str(path),))
    with serving(create_cdx_app(CdxService(CdxServer(sources)))) as found:
        yield found


def _run(script: str, address: str, **options: object) -> list[list[object]]:
    command = [str(prepare(CDX_CLIENTS)), "-c", script, address, json.dumps(options)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found: list[list[object]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("path", ["/cdx", "/cdx/ia"])
def test_wayback_pages_by_resume_keys(address: str, path: str) -> None:
    found = _run(WAYBACK, address + path, limit=4)
    assert [year for year, _, _ in found] == [*YEARS]
    assert [one[0] for one in _run(WAYBACK, address + path, limit=-3)] == [2020, 2022, 2024]
    assert _run(WAYBACK, address + path, limit=1000, resolve_revisits=False) == found


@pytest.mark.parametrize("path", ["/cdx", "/cdx/ia"])
def test_cdx_toolkit_pages_by_number(address: str, path: str) -> None:
    assert _run(TOOLKIT, address + path) == [True, [*YEARS]]
    assert _run(TOOLKIT, address + path, limit=7)[1][:7] == [*YEARS][:7]


def test_pages_are_counted_and_read_as_at_the_internet_archive(address: str) -> None:
    asked = {"url": "a.example/*", "pageSize": "1"}
    count = requests.get(f"{address}/cdx/ia", {**asked, "showNumPages": "true"}, timeout=60)
    years = []
    for page in range(int(count.text)):
        answer = requests.get(f"{address}/cdx/ia", {**asked, "page": str(page)}, timeout=60)
        years += [int(line.split(" ")[1][:4]) for line in answer.text.splitlines()]
    assert years == [*YEARS]
    beyond = requests.get(f"{address}/cdx/ia", {**asked, "page": count.text.strip()}, timeout=60)
    assert (beyond.status_code, beyond.text) == (200, "")
