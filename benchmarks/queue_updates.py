"""Updates per second of the crawler's queue over HTTP, compared with queues of crawlers.

    python -m benchmarks.queue_updates [--updates 50000] [--repetitions 3] [--engine both]

Sends updates of URLs to `nwx queue` in requests of 500, each on disk before it
is answered, from one client and from four at once; a fifth of the updates
change the priority of an existing URL. Then leases and finishes the URLs, 100
at a time. The peers, alternately in the same run, get the same updates in
process, without HTTP:

- queuelib, Scrapy's disk queue: a queue of files for each of ten priorities. It
  only appends; nothing is durable before it is closed, a URL is stored as often
  as it was added, and its priority cannot change.
- an SQLite table with one row per URL that is replaced, synced after every row,
  like a frontier that writes each URL as it comes (Frontera), and after every
  500 rows: the minimum for a queue of that kind.

Prints the least clock and processor seconds of the repetitions; for nwx, of
the server with its workers, without the client.
"""

import argparse
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import requests
from queuelib import FifoDiskQueue, PriorityQueue

from benchmarks.process_family import family_seconds
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.steering.queue.protocol import write_updates
from tests.elasticsearch.server import node

REQUEST = 500
LEASED = 100
TOKEN = "benchmark"
_COMMAND = str(Path(sys.executable).parent / "nwx")


@dataclass(slots=True)
class Took:
    """The least seconds of repeated work, and the number of its items."""

    items: int
    clock: float = float("inf")
    processor: float = float("inf")

    def note(self, clock: float, processor: float) -> None:
        """Add the seconds of a repetition."""
        self.clock, self.processor = min(self.clock, clock), min(self.processor, processor)


Figures = dict[str, Took]


def main() -> None:
    """Run all alternately and print the figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--updates", type=int, default=50_000)
    options.add_argument("--repetitions", type=int, default=3)
    options.add_argument("--engine", choices=("embedded", "elastic", "both"), default="both")
    given = options.parse_args()
    updates = _updates(given.updates)
    figures: Figures = {}
    for _ in range(given.repetitions):
        with tempfile.TemporaryDirectory() as folder:
            if given.engine != "elastic":
                _run_nwx(figures, "nwx", Path(folder) / "archive", updates)
            _run_queuelib(figures, Path(folder) / "queuelib", updates)
            _run_sqlite(figures, Path(folder), updates, 1)
            _run_sqlite(figures, Path(folder), updates, REQUEST)
    if given.engine != "embedded":
        with node() as server:
            for number in range(given.repetitions):
                _run_nwx(figures, "nwx, Elasticsearch", server, updates, f"queue-{number}")
    print("| | items a second | of processor | clock, s | processor, s |")
    print("|---|---|---|---|---|")
    for name, took in figures.items():
        print(
            f"| {name} | {took.items / took.clock:,.0f} | {took.items / took.processor:,.0f}"
            f" | {took.clock:.2f} | {took.processor:.2f} |"
        )


def _updates(count: int) -> list[UrlUpdate]:
    """Return updates of URLs of 2,000 hosts, a fifth of them of earlier URLs."""
    chance = random.Random(12)
    updates: list[UrlUpdate] = []
    for number in range(count):
        if updates and chance.random() < 0.2:
            url = chance.choice(updates).url
        else:
            host = f"www.site-{int(chance.paretovariate(0.7)) % 2_000}.example"
            url = f"http://{host}/section/{number % 97}/page-{number}.html?from=feed"
        priority = round(chance.random(), 3)
        updates.append(UrlUpdate(url, priority, f"http://www.site-{number % 50}.example/", "one"))
    return updates


def _run_nwx(
    figures: Figures,
    name: str,
    place: Path | str,
    updates: Sequence[UrlUpdate],
    prefix: str = "queue",
) -> None:
    bodies = [
        write_updates(updates[start : start + REQUEST]) for start in range(0, len(updates), REQUEST)
    ]
    half = len(bodies) // 2
    with _serving(place, prefix) as (address, pid):
        sender = _Client(address)
        with _measured(figures, f"{name}: updates, one client", half * REQUEST, pid):
            for body in bodies[:half]:
                sender.post("", body)
        clients = [_Client(address) for _ in range(4)]
        rest = len(bodies) - half
        with (
            _measured(figures, f"{name}: updates, four clients", rest * REQUEST, pid),
            ThreadPoolExecutor(4) as pool,
        ):
            list(pool.map(lambda one: clients[one[0] % 4].post("", one[1]),
                          enumerate(bodies[half:])))  # fmt: skip
        leased = 0
        with _measured(figures, f"{name}: URLs leased and finished", 50 * LEASED, pid):
            for _ in range(50):
                leased += sender.lease_and_finish()
        assert leased == 50 * LEASED


class _Client:
    """A client of a queue with a separate connection."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._session = requests.Session()
        self._session.trust_env = False
        self._session.headers["Authorization"] = f"Bearer {TOKEN}"

    def post(self, path: str, body: bytes) -> None:
        """Send a body, which must be accepted."""
        self._session.post(f"{self._address}{path}", data=body).raise_for_status()

    def lease_and_finish(self) -> int:
        """Lease URLs, finish them, and return their number."""
        answer = self._session.get(f"{self._address}/next?n={LEASED}")
        leases = [one["lease"] for one in answer.json()["urls"]]
        self.post("/finish", msgspec.json.encode(leases))
        return len(leases)


@contextmanager
def _serving(place: Path | str, prefix: str) -> Iterator[tuple[str, int]]:
    """Yield the address of `nwx queue` with one worker and without limits, and its process."""
    with subprocess.Popen(
        [
            *(_COMMAND, "--engine", str(place), "--prefix", prefix, "queue", "--port", "0"),
            *("--workers", "1", "--delay", "0", "--in-flight", "0"),
        ],
        env=os.environ | {"NWX_QUEUE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        found = re.search(r"http://\S+/urls", process.stdout.readline())
        assert found
        yield found[0], process.pid
        process.send_signal(signal.SIGTERM)


@contextmanager
def _measured(figures: Figures, name: str, items: int, pid: int = 0) -> Iterator[None]:
    """Record the clock and processor time of a process with its workers, or of this one."""
    worked: Callable[[], float] = (lambda: family_seconds(pid)) if pid else time.process_time
    before, started = worked(), time.perf_counter()
    yield
    took = time.perf_counter() - started, worked() - before
    figures.setdefault(name, Took(items)).note(*took)


def _run_queuelib(figures: Figures, folder: Path, updates: Sequence[UrlUpdate]) -> None:
    folder.mkdir()

    def queue_of(priority: int) -> FifoDiskQueue:
        return FifoDiskQueue(str(folder / f"priority{priority}"))

    with _measured(figures, "queuelib: appended", len(updates)):
        queue = PriorityQueue(queue_of)
        for update in updates:
            queue.push(msgspec.json.encode(update), int(10 * (1 - (update.priority or 0))))
        queue.close()


def _run_sqlite(figures: Figures, folder: Path, updates: Sequence[UrlUpdate], rows: int) -> None:
    updates = updates[: len(updates) // 10] if rows == 1 else updates
    db = sqlite3.connect(folder / f"rows-{rows}.db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("CREATE TABLE urls (url TEXT PRIMARY KEY, priority REAL, via TEXT)")
    db.execute("CREATE INDEX by_priority ON urls (priority)")
    with _measured(figures, f"SQLite: rows replaced, {rows} a transaction", len(updates)):
        for start in range(0, len(updates), rows):
            db.execute("BEGIN IMMEDIATE")
            db.executemany(
                "INSERT INTO urls VALUES (?, ?, ?) ON CONFLICT (url) DO UPDATE"
                " SET priority = excluded.priority",
                [(one.url, one.priority, one.via) for one in updates[start : start + rows]],
            )
            db.execute("COMMIT")
    db.close()


if __name__ == "__main__":
    main()
