"""A real crawler queries the real service, and does not store duplicates again.

A site is crawled twice through warcprox. `nwx watch` loads the output of the first crawl as
warcprox closes its files; in the second, warcprox asks `nwx serve` about each page and writes
revisits of unchanged ones.
"""

import json
import urllib.parse
import urllib.request
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import nwx
from nwx.engine.base import open_engine
from nwx.model import Capture
from nwx.settings import ServerSettings, Settings
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource
from tests.cli.conftest import run_nwx
from tests.conformance.engines.search_server import remove_indices
from tests.crawling.service import Place
from tests.crawling.site import CHANGING, Site, running_site
from tests.crawling.warcprox import warcprox

pytestmark = pytest.mark.xdist_group("warcprox")

PAGES = 12


ENGINES = {"hex": ("elastic",), "base32": ("embedded",)}
"""The engines on which each spelling of digests is tested."""


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """An archive on the engine that a test names."""
    if request.param == "embedded":
        yield Place(str(tmp_path / "archive"), tmp_path, {})
        return
    address = request.getfixturevalue("elasticsearch_url")
    prefix = f"nwx-crawl-{uuid.uuid4().hex}"
    yield Place(address, tmp_path, {"NWX_PREFIX": prefix})
    remove_indices(Settings(address, ServerSettings(prefix=prefix)))


def crawl(place: Place, site: Site, name: str, *options: str, failing_hosts: bool = False) -> None:
    """Crawl a site through warcprox while `nwx watch` loads its files."""
    incoming, done = place.folder / "incoming", place.folder / name
    incoming.mkdir(exist_ok=True)
    watching = ("watch", str(incoming), "--completed", str(done), "--interval", "0.1", "--json")
    with place.started(*watching) as watch:
        with warcprox(incoming, *options, failing_hosts=failing_hosts) as proxy:
            assert site.crawl(proxy) == site.urls
        assert watch.stdout is not None
        line = watch.stdout.readline()
        assert line, watch.communicate(timeout=60)
    event = json.loads(line)
    assert event["event"] == "loaded", event
    assert list(incoming.iterdir()) == []


def captures_of(folder: Path) -> list[Capture]:
    """Return the captures of all files in a folder."""
    return [
        item.capture
        for path in sorted(folder.iterdir())
        for item in ArchiveReader(ArchiveSource(path.name, str(path), None), "default")
        if isinstance(item, CaptureRecord)
    ]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


@pytest.mark.parametrize(
    ("place", "spelling"),
    [(kind, spelling) for spelling, kinds in ENGINES.items() for kind in kinds],
    indirect=["place"],
)
def test_a_second_crawl_writes_revisits_of_what_did_not_change(
    place: Place, spelling: str, capsys: pytest.CaptureFixture[str]
) -> None:
    option = ("--base32",) if spelling == "base32" else ()
    with running_site(PAGES) as site:
        crawl(place, site, "first", *option, "--dedup-db-file", "/dev/null")
        site.change()
        with place.served() as service:
            crawl(place, site, "second", *option, "--cdxserver-dedup", f"{service}/cdx/{spelling}")
            _the_service_agrees(service, site)
    first, second = captures_of(place.folder / "first"), captures_of(place.folder / "second")
    assert Counter(one.record_type for one in first) == {"response": site.urls}
    changed = {f"{site.home.rstrip('/')}{path}" for path in CHANGING}
    assert {one.url for one in second if one.record_type == "response"} == changed
    revisits = {one.url: one for one in second if one.record_type == "revisit"}
    assert len(revisits) == site.urls - len(changed)
    for one in first:
        if one.url not in changed:
            again = revisits[one.url]
            assert (again.digest, again.refers_to_timestamp) == (one.digest, one.timestamp)
    sizes = size_of(place.folder / "first"), size_of(place.folder / "second")
    with capsys.disabled():
        print(
            f"\n{sizes[0]:,} bytes crawled, then {sizes[1]:,}: {1 - sizes[1] / sizes[0]:.0%} saved"
        )
    assert sizes[1] < sizes[0] / 2
    run_nwx(place.engine, "check", **place.settings)


def test_a_crawl_by_sha256_finds_what_one_by_sha1_wrote(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "archive"), tmp_path, {})
    with open_engine(Settings(place.engine)) as engine:
        engine.create()
        engine.digests.keep(wanted=True)
    by_sha256 = ("--digest-algorithm", "sha256", "--cdxserver-dedup")
    with running_site(3) as site:
        crawl(place, site, "first", "--dedup-db-file", "/dev/null")
        with place.served() as service:
            crawl(place, site, "second", *by_sha256, f"{service}/cdx/sha256")
    second = captures_of(tmp_path / "second")
    assert Counter(one.record_type for one in second) == {"revisit": site.urls}
    assert {one.digest.partition(":")[0] for one in second} == {"sha256"}
    assert run_nwx(place.engine, "missing", "--originals").out == ""
    with nwx.open(place.engine) as archive:
        assert {len(hit.dates) for hit in archive.search("*")} == {2}


def test_a_crawl_goes_on_while_the_service_is_away(tmp_path: Path) -> None:
    place = Place(str(tmp_path / "archive"), tmp_path, {})
    with running_site(3) as site:
        crawl(place, site, "first", "--dedup-db-file", "/dev/null")
        with place.served() as service:
            pass
        asking = ("--cdxserver-dedup", f"{service}/cdx/hex")
        crawl(place, site, "second", *asking, failing_hosts=True)
    second = captures_of(tmp_path / "second")
    assert Counter(one.record_type for one in second) == {"response": site.urls}


def _the_service_agrees(service: str, site: Site) -> None:
    """Query like other crawlers: by digest, for any URL."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def ask(**asked: str) -> Any:
        with opener.open(f"{service}/dedup?{urllib.parse.urlencode(asked)}") as answer:
            return json.load(answer)

    with opener.open(f"{service}/cdx/base32?url={site.home}copy&fl=digest&limit=-1") as answer:
        digest = answer.read().decode().strip()
    found = ask(digest=digest, url=f"{site.home}copy", there="1")
    assert (found["found"], found["url"]) == (True, f"{site.home}copy")
    assert ask(digest=digest, url=f"{site.home}elsewhere")["found"] is False
    assert ask(digest=digest, url=f"{site.home}elsewhere", scope="any")["found"] is True
