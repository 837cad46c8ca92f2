"""nwx queue: its commands, its server, and killed deliveries."""

import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.engine.indices.crawl_queue import QueueCounts, UrlUpdate
from nwx.settings import Settings
from tests.cli.conftest import COMMAND, Nwx, environment, run_nwx

TOKEN = "secret"
URLS = 400
ROUNDS = 10
UPDATES = [
    UrlUpdate(f"http://h{n % 7}.example/{n}", ((n * 31 + number * 17) % 100) / 100)
    for number in range(ROUNDS)
    for n in range(URLS)
]
"""Each URL ten times; the last round takes effect."""


def test_urls_are_added_listed_blacklisted_and_lifted(nwx: Nwx) -> None:
    assert nwx("queue", "counts", code=1).err.startswith("nwx: no archive")
    added = nwx(
        *("queue", "add", "http://a.example/", "--priority", "0.25", "--crawl", "one"),
        *("--file", "-", "--json"),
        stdin=b"http://b.example/\n\n http://c.example/ \n",
    )
    assert added.json == {"new": 3, "changed": 0, "unchanged": 0, "blacklisted": 0}
    blacklisted = nwx("queue", "blacklist", "http://b.example/", "--crawl", "one")
    assert blacklisted.out == "0 new URLs, 1 changed, 0 unchanged\n"
    assert [(one["url"], one["priority"]) for one in nwx("queue", "list", "--json").json_lines] == [
        ("http://a.example/", 0.25),
        ("http://b.example/", "blacklisted"),
        ("http://c.example/", 0.25),
    ]
    assert nwx("queue", "list", "--state", "blacklisted").out.split() == [
        "-",
        "blacklisted",
        "http://b.example/",
        "one",
    ]
    assert len(nwx("queue", "list", "--host", "A.example:80").out.splitlines()) == 1
    assert len(nwx("queue", "list", "--limit", "2").out.splitlines()) == 2
    assert nwx("queue", "list", "--crawl", "two").out == ""
    nwx("queue", "lift", "http://b.example/", "--crawl", "one")
    assert nwx("queue", "counts").out == "3 waiting, 0 leased, 0 done, 0 blacklisted\n"
    assert nwx("queue", "counts", "--crawl", "two", "--json").json["waiting"] == 0


def test_wrong_use(nwx: Nwx) -> None:
    assert "set NWX_QUEUE_TOKEN" in nwx("queue", code=2).err
    assert "not an http, https or ftp address" in nwx("queue", "add", "example", code=2).err
    assert "--file" in nwx("queue", "add", code=2).err
    assert "nothing.txt" in nwx("queue", "add", "--file", "nothing.txt", code=1).err
    assert nwx("queue", "add", "http://a/", "--priority", "2", code=2).err


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class QueueServer:
    """The process of `nwx queue`, which can be killed and restarted on the same port."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._port = free_port()
        self.address = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [COMMAND, "queue", "--port", str(self._port), "--workers", "1"],
            env=environment(self._folder, PYTHONUNBUFFERED="1", NWX_QUEUE_TOKEN=TOKEN),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert re.search(r"http://\S+/urls", self._process.stdout.readline())

    def stop(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End the server with a signal."""
        self._process.send_signal(number)
        self._process.communicate(timeout=60)


@contextmanager
def deliverer(folder: Path, address: str) -> Iterator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [COMMAND, "queue", "deliver", address, "--json"],
        env=environment(folder, NWX_QUEUE_TOKEN=TOKEN),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_until(reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 120
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.002)


@pytest.fixture
def sending(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(engine=str(tmp_path / "sending"))) as engine:
        engine.create()
        yield engine


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QueueServer]:
    running = QueueServer(tmp_path / "queue")
    yield running
    running.stop(signal.SIGTERM)


def check_all_arrived(folder: Path) -> None:
    with open_engine(Settings(engine=str(folder)), read_only=True) as engine:
        queue = engine.crawl_queue()
        assert queue.counts() == QueueCounts(waiting=URLS)
        found = {one.url: one.priority for one in queue.scan()}
    assert found == {update.url: update.priority for update in UPDATES}


def test_no_update_is_lost_when_either_side_is_killed(
    tmp_path: Path, sending: Engine, server: QueueServer
) -> None:
    outbox, address = sending.outbox(), server.address
    outbox.add(UPDATES, address)

    def left() -> int:
        return outbox.queues().get(address, 0)

    for share in (0.8, 0.6):
        with deliverer(tmp_path / "sending", address) as process:
            wait_until(lambda share=share: left() < share * len(UPDATES))  # type: ignore[misc]
            process.kill()
            process.wait()
    assert left() > 0
    with deliverer(tmp_path / "sending", address) as process:
        wait_until(lambda: left() < 0.4 * len(UPDATES))
        server.stop()
        time.sleep(0.5)
        server.start()
        out, _ = process.communicate(timeout=120)
    assert '"refused": 0' in out
    assert left() == 0
    check_all_arrived(tmp_path / "queue")


def test_a_crawler_that_comes_late(tmp_path: Path, sending: Engine, server: QueueServer) -> None:
    server.stop()
    sending.outbox().add(UPDATES, server.address)
    with deliverer(tmp_path / "sending", server.address) as process:
        time.sleep(1)
        assert process.poll() is None
        server.start()
        process.communicate(timeout=120)
    check_all_arrived(tmp_path / "queue")


def test_a_wrong_token_loses_nothing(tmp_path: Path, sending: Engine, server: QueueServer) -> None:
    sending.outbox().add(UPDATES[:10], server.address)
    wrong = run_nwx(tmp_path / "sending", "queue", "deliver", "--queue-token", "other", code=1)
    assert "check the token" in wrong.err
    assert sending.outbox().queues() == {server.address: 10}
    right = run_nwx(tmp_path / "sending", "queue", "deliver", "--queue-token", TOKEN)
    assert right.out == f"10 updates delivered to {server.address}, 0 refused\n"
