"""HGET by 8 clients without pipelining: nwx dedup-server compared with redis-server.

    python -m benchmarks.dedup_server [--hashes 10000000] [--questions 100000]

Needs redis-server and redis-benchmark. Prints questions per second, the latencies of
redis-benchmark in milliseconds, and the resident memory of each server.
"""

import argparse
import subprocess
import tempfile
import time
from pathlib import Path

import psutil

from nwx.dedup.key_store import Keyspace, KeyStore, dedup_file_path
from nwx.engine.embedded.entries.payload_keys import KeyKind
from tests.crawling.redis_servers import DedupServer, RawClient, redis_server

_VALUE = b"0 20260101000000 http://www.example.org/a/page/of/usual/length 12345"
_BATCH = 10_000


def main() -> None:
    """Fill both servers, and measure them one after the other."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--hashes", type=int, default=10_000_000)
    options.add_argument("--questions", type=int, default=100_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        archive = Path(name) / "archive"
        subprocess.run(["nwx", "--engine", archive, "import", "sample/archive"], check=True)
        fill(dedup_file_path(str(archive)), given.hashes)
        ours = DedupServer(archive)
        measure("nwx dedup-server", ours.port, ours.process.pid, given)
        ours.kill()
        with redis_server(Path(name)) as port, RawClient(port) as client:
            for begin in range(0, given.hashes, _BATCH):
                some = range(begin, min(begin + _BATCH, given.hashes))
                client.pipeline([(b"HSETNX", b"h:crawl", digest(one), _VALUE) for one in some])
            pid = next(one.pid for one in psutil.Process().children() if "redis" in one.name())
            measure("redis-server", port, pid, given)


def digest(number: int) -> bytes:
    """Return the digest of a number, in the form that redis-benchmark generates."""
    return b"%064d" % number


def fill(path: Path, hashes: int) -> None:
    """Write the dedup keys of a crawl."""
    store = KeyStore(path)
    key = Keyspace(store, "").made(b"h:crawl", KeyKind.HASH)
    for number in range(hashes):
        store.write("INSERT INTO entries VALUES (?, ?, ?)", (key, digest(number), _VALUE))
    store.commit()
    store.close()


def measure(name: str, port: int, pid: int, given: argparse.Namespace) -> None:
    """Measure a server, and print its figures."""
    field = "0" * 52 + "__rand_int__"
    arguments = ["-p", port, "-c", 8, "-n", given.questions, "-r", given.hashes]
    began = time.monotonic()
    done = subprocess.run(
        ["redis-benchmark", *map(str, arguments), "--csv", "HGET", "h:crawl", field],
        capture_output=True,
        text=True,
        check=True,
    )
    rate = given.questions / (time.monotonic() - began)
    memory = psutil.Process(pid).memory_info().rss >> 20
    print(f"{name}: {rate:,.0f} a second, {memory} MB\n{done.stdout}", flush=True)


if __name__ == "__main__":
    main()
