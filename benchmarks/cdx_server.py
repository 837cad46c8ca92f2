"""Look-ups, prefix queries and POSTs of the CDX server, compared with pywb's and OutbackCDX.

    python -m benchmarks.cdx_server [--captures 100000] [--clients 1 8] [--seconds 5]
        [--prefix 100000] [--post 20000] [--elastic [ADDRESS]] [--outback JAR]
        [--folder FOLDER]

Exact look-ups use random URLs: look-ups/s and the 95th percentile in
milliseconds, for each number of clients; every client is a process with one
persistent connection, and sends the headers of `requests`. The prefix query
streams `--prefix` lines of one host. POSTs send `--post` lines in one request
to each engine, from one client and from two at once.
With OutbackCDX, a table compares the figures for the most clients. Servers
are separate processes, measured one after the other. pywb has the same ZipNum
cluster as nwx. OutbackCDX is included if its jar is given: a release, or the
result of `mvn package`.
"""

import argparse
import gzip
import multiprocessing
import os
import random
import socket
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

from isal import isal_zlib

from benchmarks.cdx_peers import (
    TOKEN,
    Figures,
    folder_bytes,
    nwx_command,
    nwx_server,
    outback_server,
    peak_megabytes,
    print_comparison,
    pywb_server,
    tree_seconds,
)
from benchmarks.scale import children_seconds
from tests.elasticsearch.server import node

BLOCK_LINES = 3_000
WARM_UP = 50
WHOLE = "big"
SITES = 1_000
_HEADERS = "\r\n".join(
    (
        "Host: 127.0.0.1",
        "User-Agent: python-requests/2.32",
        "Accept-Encoding: gzip, deflate",
        "Accept: */*",
        "Connection: keep-alive",
        "",
    )
)
"""The headers sent by `requests`, which warcprox uses."""


_POSTED_BYTES = 1 << 26
_POSTING_CLIENTS = (1, 2)
_COMPACTION_SECONDS = 10
"""OutbackCDX compacts in the background without reporting its end."""


def main() -> None:
    """Run the comparison and print its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--captures", type=int, default=100_000)
    options.add_argument("--clients", type=int, nargs="+", default=[1, 8])
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--prefix", type=int, default=100_000)
    options.add_argument("--post", type=int, default=20_000)
    options.add_argument("--elastic", nargs="?", const="start", default="")
    options.add_argument("--outback", type=Path)
    options.add_argument("--no-pywb", dest="pywb", action="store_false")
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    with ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        index = write_index(folder, given.captures, given.prefix)
        cluster = write_cluster(folder / "collections" / "web" / "indexes", index)
        elastic = given.elastic
        if elastic == "start":
            elastic = stack.enter_context(node())
        run(given, folder, cluster, index, elastic)


def run(given: argparse.Namespace, folder: Path, cluster: Path, index: Path, elastic: str) -> None:
    """Measure each server, one after the other."""
    engines = {"embedded": str(folder / "archive")} | ({"elastic": elastic} if elastic else {})
    asked = "/web/cdx/ia?url={}"
    figures: Figures = {}
    for name, place in engines.items():
        figures[name] = load(place, index)
        with nwx_server(["--engine", place], []) as (port, process):
            figures[name] |= ask(f"nwx, {name}", port, asked, given, process.pid)
    for name, source in (("ZipNum", cluster), ("CDX file", index)):
        with nwx_server([], [f"web={source}"]) as (port, process):
            figures[name] = ask(f"nwx, {name}", port, asked, given, process.pid)
    if given.pywb:
        with pywb_server(folder) as (port, process):
            # Request all blocks as one page; the default is pages of ten.
            pywb = "/web/index?output=text&limit=1000000000&pageSize=1000000&url={}"
            ask("pywb, ZipNum", port, pywb, given, process.pid)
    if given.outback:
        data = folder / "outback"
        with outback_server(given.outback, data) as (port, process):
            figures["OutbackCDX"] = load_outback(port, index, data, process.pid)
            figures["OutbackCDX"] |= ask("OutbackCDX", port, "/web?url={}", given, process.pid)
            figures["OutbackCDX"] |= post("OutbackCDX", port, given, process.pid)
    for name, place in engines.items():
        with nwx_server(["--engine", place], ["--cdx-token", TOKEN]) as (port, process):
            figures[name] |= post(f"nwx, {name}", port, given, process.pid)
    if given.outback:
        print_comparison(figures)


def ask(
    name: str, port: int, address: str, given: argparse.Namespace, pid: int
) -> dict[str, float]:
    """Return the figures of look-ups and of a prefix query."""
    figures = lookups(name, port, address, given, pid)
    return figures | prefix(name, port, address, given.prefix, pid)


def url_of(number: int) -> str:
    """Return a captured URL by number."""
    return f"http://site{number % SITES}.example/page/{number}"


def write_index(folder: Path, captures: int, prefix_lines: int) -> Path:
    """Write a sorted CDX of eleven fields: three captures per URL, and one host with many."""
    path = folder / "index.cdx"
    with path.open("w") as stream:
        for number in range(captures // 3):
            key = f"example,site{number % SITES})/page/{number}"
            for place, year in enumerate((2005, 2010, 2015), 3 * number):
                stream.write(line_of(key, f"{year}0102030405", url_of(number), place))
        for number in range(prefix_lines):
            key, url = f"example,{WHOLE})/{number}", f"http://{WHOLE}.example/{number}"
            stream.write(line_of(key, "20100102030405", url, captures + number))
    subprocess.run(
        ["sort", "-S", "1G", "-o", path, path], env=os.environ | {"LC_ALL": "C"}, check=True
    )
    return path


def line_of(key: str, timestamp: str, url: str, number: int) -> str:
    """Return a CDX line with a digest as random as real ones."""
    digest = "".join(random.Random(number).choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", k=32))
    file = f"CRAWL-{number % 5000:05}.warc.gz"
    return f"{key} {timestamp} {url} text/html 200 {digest} - - 4321 {number} {file}\n"


def write_cluster(folder: Path, index: Path) -> Path:
    """Write a CDX as a ZipNum cluster readable by pywb."""
    folder.mkdir(parents=True, exist_ok=True)
    with (
        index.open("rb") as lines,
        (folder / "part-0.gz").open("wb") as part,
        (folder / "cluster.idx").open("wb") as written,
    ):
        for number, block in enumerate(_blocks(lines), 1):
            data = gzip.compress(b"".join(block), 6)
            key = b" ".join(block[0].split(b" ")[:2])
            written.write(b"%s\tpart-0\t%d\t%d\t%d\n" % (key, part.tell(), len(data), number))
            part.write(data)
    (folder / "cluster.loc").write_text("part-0\tpart-0.gz\n")
    return folder


def _blocks(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while block := list(islice(lines, BLOCK_LINES)):
        yield block


def load(place: str, index: Path) -> dict[str, float]:
    """Load the captures of a CDX into an archive; return the figures."""
    started, before = time.perf_counter(), children_seconds()
    command = ["--engine", place, "cdx-load", "--collection", "web", str(index)]
    subprocess.run([nwx_command(), *command], check=True, stdout=subprocess.DEVNULL)
    took, busy = time.perf_counter() - started, children_seconds() - before
    with index.open("rb") as stream:
        lines = sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))
    stored = folder_bytes(Path(place)) / lines
    print(
        f"cdx-load into {place}: {lines / took:,.0f} captures/s, {busy / lines * 1e6:.1f} µs of the"
        f" processor and {stored:.0f} bytes each"
    )
    return {"bytes": stored, "load µs": busy / lines * 1e6}


def load_outback(port: int, index: Path, data: Path, pid: int) -> dict[str, float]:
    """POST a CDX to OutbackCDX, some lines at a time, compact it, and return the figures."""
    started, before = time.perf_counter(), tree_seconds(pid)
    lines = 0
    with index.open("rb") as stream, Client(port) as client:
        while some := stream.readlines(_POSTED_BYTES):
            client.post("/web", b"".join(some))
            lines += len(some)
        took, busy = time.perf_counter() - started, tree_seconds(pid) - before
        loaded = folder_bytes(data) / lines
        client.post("/web/compact", b"")
    time.sleep(_COMPACTION_SECONDS)
    stored = folder_bytes(data) / lines
    print(
        f"POST to OutbackCDX: {lines / took:,.0f} captures/s, {busy / lines * 1e6:.1f} µs of the"
        f" processor and {loaded:.0f} bytes each, {stored:.0f} after compaction"
    )
    return {"bytes": stored, "load µs": busy / lines * 1e6}


def lookups(
    name: str, port: int, address: str, given: argparse.Namespace, pid: int
) -> dict[str, float]:
    """Look up random URLs with each number of clients; return the figures of the largest."""
    rate = each = 0.0
    for clients in given.clients:
        with multiprocessing.get_context("spawn").Pool(clients) as pool:
            work = [
                (port, address, given.captures // 3, given.seconds, seed) for seed in range(clients)
            ]
            before = tree_seconds(pid)
            found = pool.starmap(look_up, work)
            busy = tree_seconds(pid) - before
        times = sorted(one for mine in found for one in mine)
        rate = len(times) / given.seconds
        late = times[int(0.95 * len(times))] * 1000
        each = busy / (len(times) + clients * WARM_UP) * 1000
        print(
            f"{name}, {clients} clients: {rate:,.0f} look-ups/s,"
            f" median {statistics.median(times) * 1000:.2f} ms, 95 % {late:.2f} ms;"
            f" {each:.2f} ms of the processor each"
        )
    return {"look-ups/s": rate, "look-up ms": each}


def look_up(port: int, address: str, urls: int, seconds: float, seed: int) -> list[float]:
    """Return the times of the look-ups of one client."""
    chance = random.Random(seed)
    times = []
    with Client(port) as client:
        for _ in range(WARM_UP):
            client.get(address.format(url_of(chance.randrange(urls))))
        end = time.perf_counter() + seconds
        while (started := time.perf_counter()) < end:
            body = client.get(address.format(url_of(chance.randrange(urls))))
            times.append(time.perf_counter() - started)
            assert body.count(b"\n") == 3, body
    return times


class Client:
    """A persistent connection, with minimal work in the client."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._stream = self._socket.makefile("rb")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._socket.close()

    def get(self, target: str) -> bytes:
        """Return the body of the answer to a GET."""
        return b"".join(self.stream(target))

    def stream(self, target: str) -> Iterator[bytes]:
        """Yield the pieces of the body of an answer."""
        self._socket.sendall(f"GET {target} HTTP/1.1\r\n{_HEADERS}\r\n".encode())
        # Otherwise a server that sends a response in two packets waits for our ACK in between.
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        head = self._head()
        pieces = self._pieces(head)
        if head.get(b"content-encoding") != b"gzip":
            yield from pieces
            return
        member = isal_zlib.decompressobj(31)
        for piece in pieces:
            yield member.decompress(piece)
        yield member.flush()

    def _pieces(self, head: dict[bytes, bytes]) -> Iterator[bytes]:
        if b"chunked" not in head.get(b"transfer-encoding", b""):
            yield self._stream.read(int(head[b"content-length"]))
            return
        while size := int(self._stream.readline(), 16):
            yield self._stream.read(size)
            self._stream.readline()
        self._stream.readline()

    def post(self, target: str, body: bytes) -> bytes:
        """Return the answer to a POST."""
        head = f"POST {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
        self._socket.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return self._stream.read(int(self._head()[b"content-length"]))

    def _head(self) -> dict[bytes, bytes]:
        status = self._stream.readline()
        if b" 200 " not in status:
            raise SystemExit(f"the server answers {status!r}: {self._stream.read(500)!r}")
        head = {}
        while (line := self._stream.readline().lower()) != b"\r\n":
            name, _, value = line.partition(b":")
            head[name] = value.strip()
        return head


def prefix(name: str, port: int, address: str, lines: int, pid: int) -> dict[str, float]:
    """Stream the captures of a host; return the rate, and print the server's memory."""
    before, busy = peak_megabytes(pid), tree_seconds(pid)
    started = time.perf_counter()
    with Client(port) as client:
        found = sum(
            piece.count(b"\n")
            for piece in client.stream(address.format(f"http://{WHOLE}.example/*"))
        )
    took = time.perf_counter() - started
    assert found == lines, (found, lines)
    busy = tree_seconds(pid) - busy
    print(
        f"{name}: prefix query, {found / took:,.0f} lines/s,"
        f" {busy / found * 1e6:.2f} µs of the processor each;"
        f" memory {before:.0f} MB before, {peak_megabytes(pid):.0f} MB at most"
    )
    return {"prefix lines/s": found / took}


def post(name: str, port: int, given: argparse.Namespace, pid: int) -> dict[str, float]:
    """Send captures in one request per client; return the best rate at which they are stored."""
    rates = []
    for clients in _POSTING_CLIENTS:
        with multiprocessing.get_context("spawn").Pool(clients) as pool:
            firsts = [10**10 * (clients + each) for each in range(1, clients + 1)]
            bodies = pool.starmap(posted_lines, [(first, given.post) for first in firsts])
            busy = tree_seconds(pid)
            times = pool.starmap(send, [(port, body, given.post) for body in bodies])
        took = max(end for _, end in times) - min(start for start, _ in times)
        busy, sent = tree_seconds(pid) - busy, clients * given.post
        rates.append(sent / took)
        print(
            f"{name}, {clients} clients: POST, {sent / took:,.0f} captures/s,"
            f" {busy / sent * 1e6:.1f} µs of the processor each;"
            f" memory {peak_megabytes(pid):.0f} MB at most"
        )
    return {"POST captures/s": max(rates)}


def posted_lines(first: int, captures: int) -> bytes:
    """Return lines of new captures."""
    lines = (
        line_of("-", "20200102030405", url_of(number), first + number) for number in range(captures)
    )
    return "".join(lines).encode()


def send(port: int, body: bytes, captures: int) -> tuple[float, float]:
    """POST lines; return the times of begin and end."""
    with Client(port) as client:
        started = time.monotonic()
        answer = client.post("/posted", body)
    assert answer == b"Added %d records\n" % captures, answer
    return started, time.monotonic()


if __name__ == "__main__":
    main()
