"""Write the sample archive: seven crawls of a small site that does not exist.

    python sample/make_sample.py sample/

Everything is made here, and equal on every run: dates, record ids and
compression are fixed.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from formats import ArcFile, WarcFile, wacz
from pages import YEARS, links, read_pages
from server import Answer, Server

HOST = "http://www.lantern.example"
SEEDS = (f"{HOST}/", "http://lantern.example/", "http://static.lantern.example/logo.png")


@dataclass(frozen=True, slots=True)
class Crawl:
    """When a crawl began and how its file is written."""

    start: datetime
    name: str
    version: str = "1.0"
    requests: bool = True
    metadata: bool = False  # Heritrix's via and hopsFromSeed
    revisits: bool = True  # what is known is not stored again
    fraction: str = ""  # of the seconds of its dates


CRAWLS = (
    Crawl(datetime(2008, 5, 14, 9, 30), "LANTERN-2008-00000.arc.gz"),
    Crawl(datetime(2010, 9, 21, 6, 0), "LANTERN-2010-00000.warc.gz", metadata=True, revisits=False),
    Crawl(datetime(2013, 3, 2, 22, 15), "LANTERN-2013-00000.warc.gz", metadata=True),
    Crawl(datetime(2015, 11, 8, 13, 5), "LANTERN-2015-00000.warc", requests=False),
    Crawl(
        datetime(2018, 6, 12, 4, 45), "LANTERN-2018-00000.warc.gz", version="1.1", fraction=".250"
    ),
    Crawl(datetime(2021, 2, 27, 17, 20), "LANTERN-2021-00000.warc.gz", version="1.1"),
    Crawl(datetime(2024, 4, 6, 11, 0), "LANTERN-2024.wacz", version="1.1", requests=False),
)


@dataclass(frozen=True, slots=True)
class Visit:
    """A URL that a crawl asks for: how it was found, and the answer."""

    url: str
    via: str
    hops: str
    answer: Answer
    time: datetime


@dataclass(frozen=True, slots=True)
class Seen:
    """The first capture of a content."""

    url: str
    date: str


def visits(server: Server, crawl: Crawl) -> Iterator[Visit]:
    """Yield what a crawler that follows all links of the site asks for, in its order."""
    queue = [(url, "", "") for url in SEEDS]
    known = {url for url, _, _ in queue}
    hosts: set[str] = set()
    time = crawl.start
    while queue:
        url, via, hops = queue.pop(0)
        host = urlsplit(url).netloc
        if host not in hosts:
            hosts.add(host)
            robots = f"http://{host}/robots.txt"
            queue.insert(0, (url, via, hops))
            url, via, hops = robots, url, hops + "P"
        answer = server.get(url)
        if answer is None:
            continue
        time += timedelta(seconds=3 + len(url) % 5)
        yield Visit(url, via, hops, answer, time)
        for target, hop in _targets(url, answer):
            if target not in known and urlsplit(target).netloc.endswith("lantern.example"):
                known.add(target)
                queue.append((target, url, hops + hop))


def _targets(url: str, answer: Answer) -> Iterator[tuple[str, str]]:
    """Yield the URLs that an answer leads to and the letter of the hop."""
    if answer.location:
        yield urljoin(url, answer.location), "R"
    elif answer.content_type.startswith("text/html"):
        for reference in links(answer.body):
            target = urljoin(url, reference)
            embedded = target.endswith((".png", ".css", ".js", ".svg"))
            yield target, "E" if embedded else "L"


def write_warc(crawl: Crawl, server: Server, seen: dict[str, Seen]) -> WarcFile:
    """Return the file of a crawl; `seen` maps a digest to its first capture, and grows."""
    file = WarcFile(crawl.name, crawl.version, crawl.start)
    for visit in visits(server, crawl):
        date = visit.time.strftime("%Y-%m-%dT%H:%M:%S") + crawl.fraction + "Z"
        digest = visit.answer.digest()
        first = seen.get(digest)
        if first is None or not crawl.revisits or visit.answer.status >= 300:
            record = file.response(visit.url, date, visit.answer)
        elif visit.url.endswith(".png") and first.url == visit.url and crawl.start.year == 2015:
            record = file.not_modified(visit.url, date, visit.answer, first.date)
        else:
            record = file.revisit(visit.url, date, visit.answer, first.url, first.date)
        seen.setdefault(digest, Seen(visit.url, date))
        if crawl.requests:
            file.request(visit.url, date, record)
        if crawl.metadata:
            file.metadata(visit.url, date, record, visit.via, visit.hops)
    return file


def add_extras(file: WarcFile, server: Server) -> None:
    """Add a resource fetched by FTP and a conversion of the PDF to the crawl of 2021."""
    notice = b"The harbour office is closed. Tide tables lie on the window sill.\r\n"
    date = "2021-02-27T18:00:00Z"
    file.resource("ftp://ftp.lantern.example/notices/README.txt", date, notice, "text/plain")
    report = f"{HOST}/files/annual-report.pdf"
    text = "\n".join(server.report_lines()).encode()
    file.conversion(report, "2021-02-27T18:00:05Z", text, "text/plain")


def write_all(folder: Path) -> None:
    """Write the archive files of all crawls to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = read_pages()
    seen: dict[str, Seen] = {}
    for year, crawl in zip(YEARS, CRAWLS, strict=True):
        server = Server(texts, year)
        if crawl.name.endswith(".arc.gz"):
            arc = ArcFile(crawl.name, crawl.start)
            for visit in visits(server, crawl):
                arc.add(visit.url, visit.time, visit.answer)
                date = visit.time.strftime("%Y-%m-%dT%H:%M:%SZ")
                seen.setdefault(visit.answer.digest(), Seen(visit.url, date))
            data = arc.data()
        else:
            file = write_warc(crawl, server, seen)
            if year == 2021:
                add_extras(file, server)
            data = wacz(file, crawl.start) if crawl.name.endswith(".wacz") else file.data()
        (folder / crawl.name).write_bytes(data)


def main() -> None:
    """Write to `<folder>/archive` and say what was written."""
    if len(sys.argv) != 2:
        sys.exit("usage: make_sample.py FOLDER")
    folder = Path(sys.argv[1]) / "archive"
    write_all(folder)
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:8} {path.name}")


if __name__ == "__main__":
    main()
