"""Import beside a plain loop of warcio and BeautifulSoup into the same kind of index.

Makes WARC files (pages of 60 to 80 KB, an image for every second one; or
takes those given), imports them in turn with nwx, with the loop, and with
the loop in as many processes as nwx has, each into a new embedded archive,
and prints captures and MB of WARC a second, the ratios, the most memory of
all processes together for one file and for a hundred, the time for what is
imported already, and the size of the index beside that of the text.

    python -m benchmarks.importing --files 8 --pages 150
    python -m benchmarks.importing /data/*.warc.gz
"""

import argparse
import base64
import gzip
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from bs4 import BeautifulSoup
from warcio.archiveiterator import ArchiveIterator

from benchmarks.corpus import Words
from nwx.engine.open import open_engine
from nwx.importing import ImportOptions, ImportReport, import_files, import_report_json
from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, Document, Extract, IndexName, Link
from nwx.settings import Settings
from nwx.values.digests import normal_digest
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts
from nwx.warc.sources import expand

LOOP_BATCH = 500


@dataclass(frozen=True, slots=True)
class Figure:
    """What a run took."""

    name: str
    seconds: float
    captures: int
    memory: int
    processor: float


def main() -> None:
    """Run the benchmark and print its figures."""
    options = _options()
    if options.run:
        _run_one(options)
        return
    with tempfile.TemporaryDirectory(prefix="nwx-bench-") as folder:
        _compare(options, Path(folder))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("warcs", nargs="*", help="WARC files to take in place of made ones")
    parser.add_argument("--files", type=int, default=8, help="how many to make")
    parser.add_argument("--pages", type=int, default=150, help="pages in each")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--memory-files", type=int, default=100, help="many files, for memory")
    parser.add_argument("--memory-pages", type=int, default=300, help="pages in each of them")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--archive", help=argparse.SUPPRESS)
    return parser.parse_args()


def _compare(options: argparse.Namespace, folder: Path) -> None:
    warcs = options.warcs or _made(folder, options.files, options.pages)
    size = sum(Path(warc).stat().st_size for warc in warcs)
    print(f"{len(warcs)} files, {size / 1e6:.0f} MB of WARC")
    figures = {name: _measured(name, folder / name, warcs, options) for name in RUNS}
    for figure in figures.values():
        print(
            f"{figure.name:18} {figure.seconds:7.2f} s {figure.captures / figure.seconds:8.0f}"
            f" captures/s {size / 1e6 / figure.seconds:7.1f} MB/s {figure.memory / 1e6:6.0f} MB"
            f" {figure.processor:7.2f} s of processor"
        )
    nwx, again = figures["nwx"], _measured("nwx", folder / "nwx", warcs, options)
    print(f"nwx beside the loop: {figures['loop'].seconds / nwx.seconds:.1f}x (aim 10x)")
    print(
        f"nwx beside the loop in {options.jobs} processes:"
        f" {figures['loops'].seconds / nwx.seconds:.1f}x (aim 6x)"
    )
    print(f"what is there already: {nwx.seconds / again.seconds:.1f}x as fast (aim 5x)")
    if not options.warcs:
        _print_crawled_again(folder, nwx, options)
    _print_sizes(folder / "nwx")
    _print_memory(folder, options)


def _print_crawled_again(folder: Path, nwx: Figure, options: argparse.Namespace) -> None:
    """Pages that are there already, in the files of a crawl a year later."""
    later = folder / "later"
    later.mkdir()
    warcs = _made(later, options.files, options.pages, year=2017)
    again = _measured("nwx", folder / "nwx", warcs, options)
    print(f"pages of a crawl that found nothing new: {nwx.seconds / again.seconds:.1f}x as fast")


def _print_sizes(archive: Path) -> None:
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        text = 0
        for entry in engine.scan(IndexName.DOCUMENTS):
            text += len(f"{entry.get('title', '')}{entry.get('content', '')}".encode())
        stats = engine.stats()
    for index, found in stats.items():
        if found.bytes:
            print(f"index {index:10} {found.bytes / 1e6:8.1f} MB")
    documents = stats[IndexName.DOCUMENTS].bytes or 0
    print(f"text {text / 1e6:.1f} MB; documents take {documents / text:.2f} of it")


def _print_memory(folder: Path, options: argparse.Namespace) -> None:
    many = folder / "many"
    many.mkdir()
    warcs = _made(many, options.memory_files, options.memory_pages)
    one = _measured("nwx", many / "archive-one", warcs[:1], options, jobs=1)
    lots = _measured("nwx", many / "archive-many", warcs, options, jobs=1)
    print(
        f"memory: {one.memory / 1e6:.0f} MB for 1 file, {lots.memory / 1e6:.0f} MB for"
        f" {len(warcs)}: {lots.memory / one.memory - 1:+.0%} (aim within 20 %)"
    )


# What is measured runs in a process of its own, so that its memory is its own.


def _measured(
    name: str,
    archive: Path,
    warcs: Sequence[str],
    options: argparse.Namespace,
    jobs: int | None = None,
) -> Figure:
    command = [sys.executable, "-m", "benchmarks.importing", "--run", name]
    command += ["--archive", str(archive), "--jobs", str(jobs or options.jobs), *warcs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watch = _Watch(process.pid)
        out, _ = process.communicate()
        watch.stop()
    if process.returncode:
        sys.exit(f"the run of {name} failed")
    seconds, captures = out.split()
    return Figure(name, float(seconds), int(captures), watch.memory, watch.processor)


class _Watch:
    """The most memory that a process and its descendants held together, and their work.

    `processor` is in seconds, to the last look before a process ended.
    """

    def __init__(self, pid: int) -> None:
        self.memory = 0
        self._pid, self._over = pid, threading.Event()
        self._worked: dict[int, float] = {}
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def processor(self) -> float:
        """The seconds of all."""
        return sum(self._worked.values())

    def stop(self) -> None:
        """Look no more."""
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            family = list(_family(self._pid))
            self._worked |= {pid: worked for pid in family if (worked := _work(pid))}
            self.memory = max(self.memory, sum(map(_held, family)))


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = " ".join((thread / "children").read_text() for thread in threads)
    except OSError:
        return
    for child in children.split():
        yield from _family(int(child))


def _work(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _held(pid: int) -> int:
    """Return the bytes of a process, shared ones divided among those who share them.

    Not those of files mapped into memory: the system takes these back at will.
    """
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:"))


def _run_one(options: argparse.Namespace) -> None:
    began = time.perf_counter()
    captures = RUNS[options.run](options)
    print(time.perf_counter() - began, captures)


def _nwx(options: argparse.Namespace) -> int:
    settings = Settings(options.archive)
    with open_engine(settings) as engine:
        engine.create()
        report = import_files(
            engine, settings, expand(options.warcs), ImportOptions(jobs=options.jobs)
        )
    _check(report)
    return report.captures or 1


def _check(report: ImportReport) -> None:
    if report.errors_total:
        print(import_report_json(report), file=sys.stderr)


def _loop(options: argparse.Namespace) -> int:
    return _write(options, map(_parse_file, options.warcs))


def _loops(options: argparse.Namespace) -> int:
    with get_context("spawn").Pool(options.jobs) as pool:
        return _write(options, pool.imap_unordered(_parse_file, options.warcs))


def _write(options: argparse.Namespace, files: Iterator[list[Document]]) -> int:
    count = 0
    with open_engine(Settings(options.archive)) as engine:
        engine.create()
        for documents in files:
            for start in range(0, len(documents), LOOP_BATCH):
                engine.write(_batch(documents[start : start + LOOP_BATCH]))
            count += len(documents)
        engine.refresh()
    return count


RUNS: dict[str, Callable[[argparse.Namespace], int]] = {
    "nwx": _nwx,
    "loop": _loop,
    "loops": _loops,
}


# The loop that anybody would write first.


def _parse_file(warc: str) -> list[Document]:
    documents = []
    with Path(warc).open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                offset = file.tell()
                documents.append(_parsed(record, Path(warc).name, len(documents), offset))
    return documents


def _parsed(record: object, name: str, number: int, offset: int) -> Document:
    headers, http = record.rec_headers, record.http_headers  # type: ignore[attr-defined]
    url = headers.get_header("WARC-Target-URI")
    served = http.get_header("Content-Type") or ""
    body = record.content_stream().read()  # type: ignore[attr-defined]
    digest = normal_digest(headers.get_header("WARC-Payload-Digest"))
    place, date = url_parts(url), headers.get_header("WARC-Date")
    capture = Capture(
        collection="default",
        source_file=name,
        source_file_offset=number,
        record_length=offset,
        record_type="response",
        url=url,
        urlkey=urlkey(url),
        host=place.host,
        domain=place.domain,
        public_suffix=place.public_suffix,
        timestamp="".join(filter(str.isdigit, date))[:14],
        digest=digest,
        document_id=document_id(document_key(url, digest)),
        status_code=int(http.get_statuscode()),
        content_type=served.partition(";")[0],
        content_type_norm="html" if "html" in served else "image",
        content_length=len(body),
    )
    return Document(capture, _soup(body) if "html" in served else Extract())


def _soup(body: bytes) -> Extract:
    soup = BeautifulSoup(body, "lxml")
    links = tuple(Link(str(a["href"]), a.get_text()) for a in soup.find_all("a", href=True))
    headings = tuple(h.get_text() for h in soup.find_all(["h1", "h2", "h3", "h4", "h5", "h6"]))
    title = soup.title.get_text() if soup.title else ""
    for hidden in soup(["script", "style"]):
        hidden.decompose()
    return Extract(title, soup.get_text("\n", strip=True), headings, links=links)


def _batch(documents: Sequence[Document]) -> Batch:
    dates = tuple(
        Dates(document_key(c.url, c.digest), ((c.timestamp, c.collection),))
        for c in (document.capture for document in documents)
    )
    return Batch(tuple(documents), tuple(d.capture for d in documents), dates)


# The files.


def _made(folder: Path, files: int, pages: int, year: int = 2016) -> list[str]:
    """Make WARC files whose pages look like those of the web: much markup, some text."""
    words = Words(30_000, random.Random(1))
    made = []
    for number in range(files):
        path = folder / f"made-{year}-{number:04}.warc.gz"
        source = random.Random(number)
        with path.open("wb") as file:
            for page in range(pages):
                base = f"http://www.site{source.randint(1, 40)}.example"
                body = _page(base, words, source)
                file.write(_member(f"{base}/{number}/{page}.html", "text/html", body, year))
                if page % 2:
                    image = b"\x89PNG\r\n\x1a\n" + source.randbytes(30_000)
                    file.write(_member(f"{base}/{number}/{page}.png", "image/png", image, year))
        made.append(str(path))
    return made


def _page(base: str, words: Words, source: random.Random) -> bytes:
    """Make a page as real ones of its size are: 68 KB, 135 links, 6,000 characters of text."""
    title = " ".join(words.draw(6, source))
    scripts = "".join(
        f"<script>var data{n} = {{id: '{source.randbytes(1_000).hex()}'}};</script>\n"
        for n in range(11)
    )
    style = ".card { margin: 0 auto; padding: 4px }\n" * 150
    menu = "".join(_menu_item(number, words, source) for number in range(75))
    cards = "".join(_card(base, number, words, source) for number in range(20))
    headings = "".join(f"<h2>{' '.join(words.draw(4, source))}</h2>" for _ in range(5))
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"{scripts}<style>{style}</style></head><body><ul>{menu}</ul><h1>{title}</h1>"
        f"{headings}{cards}</body></html>"
    ).encode()


def _menu_item(number: int, words: Words, source: random.Random) -> str:
    link, *anchor = words.draw(3, source)
    return (
        f'<li class="menu-item menu-item-type-post menu-item-{number}"><div class="menu-wrap">'
        f'<a class="nav-link" href="/{link}" data-track="nav:{number}:{link}" target="_self">'
        f'<span class="icon icon-{number}"></span>{" ".join(anchor)}</a></div></li>\n'
    )


def _card(base: str, number: int, words: Words, source: random.Random) -> str:
    text = " ".join(words.draw(28, source))
    return (
        f'<div class="row"><div class="col col-md-6"><div class="card" id="card-{number}"'
        f' data-config="{source.randbytes(300).hex()}"><p class="card__text">{text}'
        f' <b>{text[:20]}</b> <a href="{base}/more/{number}" rel="nofollow" class="card__more"'
        f' title="{text[:30]}">{text[20:40]}</a></p>'
        f'<a href="{base}/image/{number}"><img src="/images/{number}.png" width="120" alt=""></a>'
        f'<a href="/tag/{number}" class="tag">{text[:9]}</a></div></div></div>\n'
    )


def _member(url: str, content_type: str, body: bytes, year: int) -> bytes:
    digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
    block = (
        f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    head = (
        f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\n"
        f"WARC-Date: {year}-01-02T03:04:05Z\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
        "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000000>\r\n"
        f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return gzip.compress(head.encode() + block + b"\r\n\r\n", 6)


if __name__ == "__main__":
    main()
