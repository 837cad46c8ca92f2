"""Real crawlers on generated webs, alone and steered by nwx: the relevant pages that they fetch.

    python -m benchmarks.steered_crawlers heritrix            # or scrapy
    python -m benchmarks.steered_crawlers scrapy --shapes local mixed opaque --seeds 3

Each web of benchmarks/local_webs.py is served on loopback, each host at a separate address, and is
crawled twice until a quarter of it is fetched: breadth first by the crawler alone, and by the queue
that `nwx watch --steer` fills from the WARC files while they are written. `--delay` is the time
between two pages of a host. Prints relevant pages, and their ratio with a 95 % interval.
"""

import argparse
import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from benchmarks.local_webs import SHAPES, LocalWeb
from benchmarks.steering_harvest import Harvest, ratio
from nwx.engine.base import open_engine
from nwx.settings import Settings
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_files import write_specification
from tests.crawling.heritrix.server import running_heritrix, wait_until
from tests.crawling.service import Place
from tests.crawling.spider_process import running_spider
from tests.crawling.warcprox import warcprox
from tests.environments import SCRAPY

_CRAWL, _TOKEN = "made", "only-on-loopback"
_SECONDS = 600
_HOST = re.compile(r"http://(\w+)\.example/")


class ServedWeb:
    """A generated web on loopback: its requests, in order, and the crawl specification."""

    def __init__(self, web: LocalWeb) -> None:
        self._port = 0
        self._hosts: dict[str, str] = {}
        self._web = web
        self._lock = threading.Lock()
        self.fetched: dict[str, None] = {}

    @property
    def budget(self) -> int:
        """The number of pages that a crawl may fetch: a quarter of all."""
        return len(self._web.pages) // 4

    def serve(self, port: int) -> None:
        """Set the port of all hosts."""
        self._port = port
        self._pages = {self.moved(url): self.moved(html) for url, html in self._web.pages.items()}

    def moved(self, text: str) -> str:
        """Return a text with host names replaced by addresses."""
        return _HOST.sub(lambda found: f"http://{self._address(found[1])}/", text)

    def _address(self, host: str) -> str:
        number = self._hosts.setdefault(host, str(len(self._hosts) + 11))
        return f"127.0.0.{number}:{self._port}"

    def answer(self, url: str) -> bytes | None:
        """Return the HTML at a URL, None if there is none."""
        html = self._pages.get(url)
        if html is None:
            return None
        with self._lock:
            self.fetched[url] = None
        return html.encode()

    @property
    def hosts(self) -> list[str]:
        """The home pages of all hosts."""
        return [f"http://{self._address(host)}/" for host in self._hosts]

    def specification(self) -> CrawlSpecification:
        """Return the crawl specification."""
        found = self._web.specification(_CRAWL)
        return replace(found, seeds=tuple(map(self.moved, found.seeds)))

    def is_crawled(self) -> bool:
        """Return whether the budget is used up."""
        return len(self.fetched) >= self.budget

    def relevant(self) -> int:
        """Return the number of relevant pages within the budget, and reset the requests."""
        found = set(list(self.fetched)[: self.budget]) & set(map(self.moved, self._web.relevant))
        self.fetched = {}
        return len(found)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    web: ServedWeb

    def do_GET(self) -> None:
        body = self.web.answer(f"http://{self.headers['Host']}{self.path}")
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def served(web: LocalWeb) -> Iterator[ServedWeb]:
    """Serve a web during the block."""
    site = ServedWeb(web)
    handler = type("_WebHandler", (_Handler,), {"web": site})
    # All loopback addresses: one for each host, as crawlers wait between pages of a host.
    server = ThreadingHTTPServer(("", 0), handler)
    site.serve(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _watched(site: ServedWeb, folder: Path, warcs: Path) -> Iterator[Place]:
    specification = folder / "made.toml"
    specification.write_text(write_specification(site.specification(), "toml"), encoding="utf-8")
    place = Place(str(folder / "archive"), folder, {"NWX_QUEUE_TOKEN": _TOKEN})
    with open_engine(Settings(place.engine)) as engine:
        engine.create()  # the queue server may start before the watch
    with place.started("watch", str(warcs), "--steer", str(specification), "--json"):
        yield place


def heritrix_crawls(site: ServedWeb, folder: Path, given: argparse.Namespace) -> tuple[int, int]:
    """Return the relevant pages fetched by Heritrix alone, and by a steered crawl."""
    delay = str(round(given.delay * 1000))
    hasty = {"disposition__minDelayMs": delay, "disposition__maxDelayMs": delay}
    with running_heritrix(folder) as heritrix:
        everywhere = folder / "everywhere.txt"
        everywhere.write_text("".join(f"{url}\n" for url in site.hosts))
        seeds = list(site.specification().seeds)
        job = heritrix.make_job(
            "alone", seeds, acceptSurts__surtsSourceFile=str(everywhere), **hasty
        )
        job.launch()
        wait_until(site.is_crawled, "the budget is fetched", _SECONDS)
        heritrix.ask(f"/job/{job.name}", action="terminate")
        alone = site.relevant()
        job = heritrix.make_job(
            "steered",
            [],
            acceptSurts__seedsAsSurtPrefixes="false",
            crawlController__runWhileEmpty="true",
            actionDirectory__initialDelaySeconds="1",
            actionDirectory__delaySeconds="1",
            **hasty,
        )
        site.fetched = {}
        with (
            _watched(site, folder, job.folder) as place,
            place.started(
                *("heritrix", str(job.folder), "--crawl", _CRAWL, "--interval", "0.2"),
                *("--ahead", str(given.ahead)),
            ),
        ):
            job.launch()
            wait_until(site.is_crawled, "the budget is fetched", _SECONDS)
        return alone, site.relevant()


def scrapy_crawls(site: ServedWeb, folder: Path, given: argparse.Namespace) -> tuple[int, int]:
    """Return the relevant pages fetched by Scrapy alone, and by a steered crawl."""
    hasty = {"DOWNLOAD_DELAY": str(given.delay)}
    with running_spider(SCRAPY[-1], site.specification().seeds, folder, **hasty):
        wait_until(site.is_crawled, "the budget is fetched", _SECONDS)
    alone = site.relevant()
    incoming = folder / "incoming"
    incoming.mkdir()
    steered = {
        "SCHEDULER": "nwx.steering.adapters.scrapy_scheduler.QueueScheduler",
        "NWX_QUEUE_TOKEN": _TOKEN,
        "NWX_CRAWL": _CRAWL,
        "NWX_POLL_SECONDS": "0.2",
        "NWX_AHEAD": str(given.ahead),
    }
    delay = ("--queue-delay", str(given.delay), "--queue-in-flight", "0")
    with (
        _watched(site, folder, incoming) as place,
        place.served(*delay) as service,
        warcprox(incoming, "--dedup-db-file", "/dev/null") as proxy,
        running_spider(SCRAPY[-1], [], folder, proxy, NWX_QUEUE=service, **steered, **hasty),
    ):
        wait_until(site.is_crawled, "the budget is fetched", _SECONDS)
    return alone, site.relevant()


_CRAWLERS = {"heritrix": heritrix_crawls, "scrapy": scrapy_crawls}


def main() -> None:
    """Run the crawls and print the relevant pages."""
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("crawler", choices=_CRAWLERS)
    options.add_argument("--shapes", nargs="+", choices=SHAPES, default=["local"])
    options.add_argument("--seeds", type=int, default=1, help="how many webs of each shape")
    options.add_argument("--delay", type=float, default=0.05, help="seconds")
    options.add_argument(
        "--ahead", type=int, default=25, help="URLs that the crawler has at a time"
    )
    given = options.parse_args()
    group = []
    for shape in given.shapes:
        for seed in range(1, given.seeds + 1):
            with (
                tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
                served(LocalWeb(SHAPES[shape], seed)) as site,
            ):
                alone, steered = _CRAWLERS[given.crawler](site, Path(folder), given)
            counts = {"alone": alone, "steered": steered}
            group.append(Harvest(f"{shape} {seed}", 0, 0, site.budget, counts))
            print(f"{shape} {seed}: {alone} alone, {steered} steered of {site.budget}", flush=True)
    print("steered / alone: {:.2f} ({:.2f} to {:.2f})".format(*ratio(group, "alone")))


if __name__ == "__main__":
    main()
