"""Cost and savings of crawl-time deduplication.

    python -m benchmarks.crawl_dedup [--captures 1000000] [--lookups 2000] [--pages 400]

First the median and the 95th percentile, in milliseconds over HTTP, of
warcprox's question (`/cdx/hex`) and of `/dedup` for one URL and for any,
one after the other, half of them about stored payloads. Then the seconds of
a crawl of a local site through the real warcprox without and with
deduplication, and the bytes that it writes. Both on `--engine`: a new folder,
or the address of an Elasticsearch.
"""

import argparse
import hashlib
import random
import tempfile
import time
import uuid
from base64 import b32encode
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlsplit

from nwx.engine.base import open_engine
from nwx.keys import document_id, document_key
from nwx.model import Capture
from nwx.settings import ServerSettings, Settings
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts
from tests.crawling.service import Place
from tests.crawling.site import Site, running_site
from tests.crawling.warcprox import warcprox

_BATCH = 5_000
_WARM_UP = 50
_SITES = 3_000


def main() -> None:
    """Run both parts and print their figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--captures", type=int, default=1_000_000)
    options.add_argument("--lookups", type=int, default=2_000)
    options.add_argument("--pages", type=int, default=400)
    options.add_argument("--engine", default="")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        engine = given.engine or str(folder / "archive")
        prefix = f"nwx-bench-{uuid.uuid4().hex[:8]}"
        place = Place(engine, folder, {"NWX_PREFIX": prefix})
        fill(Settings(engine, ServerSettings(prefix=prefix)), given.captures)
        with place.served() as service:
            look_up(service, given.captures, given.lookups)
            crawl_twice(place, service, given.pages)


def made(number: int) -> Capture:
    """Return a capture by number: both URLs and payloads repeat."""
    url = f"http://www.site{number % _SITES}.example/path/{number * 7 // 10}.html"
    payload = hashlib.sha1(str(number * 2 // 3).encode()).digest()
    digest = f"sha1:{b32encode(payload).decode()}"
    place = url_parts(url)
    return Capture(
        collection="default",
        source_file=f"{number // 50_000:05}.warc.gz",
        source_file_offset=number % 50_000 * 3_000,
        record_length=3_000,
        record_type="response",
        url=url,
        urlkey=urlkey(url),
        host=place.host,
        domain=place.domain,
        public_suffix=place.public_suffix,
        timestamp=f"{2000 + number % 25}{number % 12 + 1:02}01{number % 24:02}0000",
        digest=digest,
        document_id=document_id(document_key(url, digest)),
        status_code=200,
        content_type="text/html",
        content_type_norm="html",
        content_length=9_000,
    )


def fill(settings: Settings, count: int) -> None:
    """Write captures and print the time."""
    started = time.perf_counter()
    with open_engine(settings) as engine:
        engine.create()
    with open_engine(settings) as engine:
        engine.load_captures(_batches(count))
    took = time.perf_counter() - started
    print(f"{count:,} captures loaded in {took:.0f} s, {count / took:,.0f}/s")


def _batches(count: int) -> Iterator[Sequence[Capture]]:
    for start in range(0, count, _BATCH):
        yield [made(number) for number in range(start, min(start + _BATCH, count))]


def look_up(service: str, captures: int, count: int) -> None:
    """Print the times of look-ups."""
    chance = random.Random(3)
    asked = [made(chance.randrange(2 * captures)) for _ in range(count + _WARM_UP)]
    print(f"{'look-ups, ms':28}{'median':>9}{'95 %':>9}")
    for name, target in (
        ("/cdx/hex, as warcprox asks", _as_warcprox),
        ("/dedup, the same URL", lambda one: _dedup(one, "url")),
        ("/dedup, any URL", lambda one: _dedup(one, "any")),
    ):
        took = _timed(service, [target(one) for one in asked])
        print(f"{name:28}{took[len(took) // 2]:9.2f}{took[int(len(took) * 0.95)]:9.2f}")


def _as_warcprox(one: Capture) -> str:
    fixed = "fl=timestamp%2Cdigest&filter=%21mimetype%3Awarc%2Frevisit&limit=-1"
    return f"/cdx/hex?url={quote(one.url, safe='')}&{fixed}"


def _dedup(one: Capture, scope: str) -> str:
    return f"/dedup?digest={one.digest}&url={quote(one.url, safe='')}&scope={scope}"


def _timed(service: str, targets: list[str]) -> list[float]:
    """Return the milliseconds of each answer, sorted."""
    parts = urlsplit(service)
    connection = HTTPConnection(parts.hostname or "", parts.port)
    took = []
    for target in targets:
        started = time.perf_counter()
        connection.request("GET", target)
        answer = connection.getresponse()
        answer.read()
        took.append((time.perf_counter() - started) * 1000)
        if answer.status != 200:
            raise SystemExit(f"{target}: {answer.status}")
    connection.close()
    return sorted(took[_WARM_UP:])


def crawl_twice(place: Place, service: str, pages: int) -> None:
    """Print time and bytes of a second crawl without and with deduplication."""
    with running_site(pages) as site:
        crawled(place, site, "first", "--dedup-db-file", "/dev/null")
        place.load(place.folder / "first")
        site.change()
        without = crawled(place, site, "without", "--dedup-db-file", "/dev/null")
        asking = crawled(place, site, "with", "--cdxserver-dedup", f"{service}/cdx/hex")
        print(f"{'crawl of ' + str(site.urls) + ' URLs':28}{'seconds':>9}{'bytes':>12}")
    for name, (seconds, size) in (("not asking", without), ("asking", asking)):
        print(f"{name:28}{seconds:9.2f}{size:12,}")
    print(f"{'asking / not asking':28}{asking[0] / without[0]:9.2f}{asking[1] / without[1]:12.2f}")


def crawled(place: Place, site: Site, name: str, *options: str) -> tuple[float, int]:
    """Return the seconds of a crawl until warcprox has written everything, and the bytes."""
    folder = place.folder / name
    folder.mkdir()
    with warcprox(folder, *options) as proxy:
        started = time.perf_counter()
        site.crawl(proxy)
    took = time.perf_counter() - started
    return took, sum(path.stat().st_size for path in folder.iterdir())


if __name__ == "__main__":
    main()
