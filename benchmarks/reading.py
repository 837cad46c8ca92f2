"""nwx's reader compared with bare FastWARC, on the same WARC in the same run.

FastWARC iterates over all records, parses their HTTP heads and reads all
bodies, without using them. nwx makes captures (keys, domains, digests, places,
joined requests and metadata) and decodes all payloads, or none. Both run
alternately, and the fastest run of each counts, in processor seconds.

    python benchmarks/reading.py                    # a generated WARC of about 150 MB
    python benchmarks/reading.py CRAWL.warc.gz      # a real one
"""

import argparse
import base64
import gzip
import hashlib
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from fastwarc.warc import ArchiveIterator

from nwx.model import Capture
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource

PAGE_BYTES = 40_000  # the mean; real pages tend to be longer
IMAGE_SHARE = 0.25
WORDS = [f"{stem}{end}" for stem in ("arch", "libr", "muse", "nati", "regi", "coll", "pres", "docu")
         for end in ("ive", "ary", "um", "onal", "ster", "ection", "erve", "ment")]  # fmt: skip


def main() -> None:
    """Generate or open a WARC, read it with both, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("warc", nargs="?", type=Path)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = arguments.warc or _make(Path(folder) / "made.warc.gz", arguments.pages)
        _compare(path, arguments.rounds)


def _compare(path: Path, rounds: int) -> None:
    ways: dict[str, Callable[[Path], int]] = {
        "FastWARC, heads": lambda path: _fastwarc(path, bodies=False),
        "FastWARC, bodies": lambda path: _fastwarc(path, bodies=True),
        "nwx, captures": lambda path: _nwx(path, bodies=False),
        "nwx, captures and payloads": lambda path: _nwx(path, bodies=True),
    }
    path.read_bytes()  # into the disk cache
    best = dict.fromkeys(ways, float("inf"))
    counts = dict.fromkeys(ways, 0)
    for _ in range(rounds):
        for name, way in ways.items():
            start = time.process_time()
            counts[name] = way(path)
            best[name] = min(best[name], time.process_time() - start)
    size = path.stat().st_size
    print(f"{path.name}: {size / 1e6:.0f} MB, {counts['FastWARC, bodies']} records, "
          f"{counts['nwx, captures']} captures")  # fmt: skip
    for name, seconds in best.items():
        records = counts["FastWARC, bodies"] / seconds
        print(
            f"{name:28} {seconds:6.2f} s {records:9.0f} records/s {size / 1e6 / seconds:6.0f} MB/s"
        )
    for ours, theirs in (("captures", "heads"), ("captures and payloads", "bodies")):
        ratio = best[f"nwx, {ours}"] / best[f"FastWARC, {theirs}"]
        print(f"nwx takes {ratio:.2f} times as long as FastWARC ({ours}; {theirs})")


def _fastwarc(path: Path, *, bodies: bool) -> int:
    records = 0
    with path.open("rb") as file:
        for record in ArchiveIterator(file, parse_http=True):
            records += 1
            if bodies:
                record.reader.read()
    return records


def _nwx(path: Path, *, bodies: bool) -> int:
    def keep(capture: Capture) -> bool:
        return bodies

    captures = 0
    source = ArchiveSource(path.name, str(path), path.stat().st_size)
    for found in ArchiveReader(source, "bench", keep=keep):
        if isinstance(found, CaptureRecord):
            captures += 1
            if bodies:
                found.payload()
    return captures


def _make(path: Path, pages: int) -> Path:
    chance = random.Random(1)
    with path.open("wb") as file:
        for number in range(pages):
            for record in _exchange(chance, number):
                file.write(gzip.compress(record, 6, mtime=0))
    return path


def _exchange(chance: random.Random, number: int) -> Iterator[bytes]:
    """Yield the request and the response of a page or an image."""
    site = f"www.site{chance.randrange(500)}.{chance.choice(['org', 'co.uk', 'dk'])}"
    image = chance.random() < IMAGE_SHARE
    path = f"/images/{number}.jpg" if image else f"/news/2024/{number}/?page={number % 7}&lang=en"
    size = int(chance.lognormvariate(0, 0.8) * PAGE_BYTES / 1.4)
    body = chance.randbytes(size // 2) if image else _page(chance, number, size)
    digest = base64.b32encode(hashlib.sha1(body).digest()).decode()
    head = (
        f"HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 10 May 2024 02:04:52 GMT\r\n"
        f"Content-Type: {'image/jpeg' if image else 'text/html; charset=utf-8'}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\nVary: Accept-Encoding\r\n"
        f'ETag: "{digest[:16]}"\r\nCache-Control: max-age=3600\r\nX-Frame-Options: DENY\r\n\r\n'
    )
    own = f"<urn:uuid:00000000-0000-0000-0000-{number:012}>"
    request = f"GET {path} HTTP/1.1\r\nHost: {site}\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
    named = f"WARC-Target-URI: http://{site}{path}\r\nWARC-Date: 2024-05-10T02:04:52Z\r\n"
    yield _record("request", f"{named}WARC-Concurrent-To: {own}\r\n", request.encode())
    fields = f"{named}WARC-Record-ID: {own}\r\nWARC-Payload-Digest: sha1:{digest}\r\n"
    yield _record("response", fields, head.encode() + body)


def _record(kind: str, fields: str, block: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\n{fields}"
        f"Content-Type: application/http; msgtype={kind}\r\nContent-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def _page(chance: random.Random, number: int, size: int) -> bytes:
    pieces = [f"<!doctype html><html><head><title>Page {number}</title></head><body>"]
    length = 0
    while length < size:
        text = " ".join(chance.choices(WORDS, k=40))
        link = f"/news/{chance.randrange(10**6)}"
        pieces.append(f'<div class="entry"><p>{text}</p><a href="{link}">more</a></div>\n')
        length += len(pieces[-1])
    return ("".join(pieces) + "</body></html>").encode()


if __name__ == "__main__":
    main()
