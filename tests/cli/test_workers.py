"""Worker processes of `nwx cdx-server`: dead ones are replaced, all see new writes."""

import os
import re
import signal
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator

import pytest

from tests.cli.conftest import COMMAND, environment
from tests.cli.workers import worker_ids

TOKEN = "secret"
LINE = (
    "- 20120101000000 http://a.example/ text/html 200 M5ORM4XQ5QCEZEDRNZRGSWXPCOGUVASI - - 9 {} x\n"
)
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Server:
    """A running server with several workers."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process = process
        self.address = address

    def workers(self) -> set[int]:
        """Return the ids of the workers."""
        return worker_ids(self.process.pid)

    def ask(self, path: str, data: bytes | None = None) -> str:
        """Return a response; every request uses a new connection."""
        headers = {"Authorization": f"Bearer {TOKEN}"}
        request = urllib.request.Request(f"{self.address}{path}", data, headers)
        with OPENER.open(request, timeout=60) as answer:
            found: str = answer.read().decode()
        return found

    def wait_for_others(self, before: set[int]) -> None:
        """Wait until there are as many workers as before, and one of the old ones is gone."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            now = self.workers()
            if len(now) == len(before) and before - now:
                return
            time.sleep(0.05)
        pytest.fail(f"{before} are still {self.workers()}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("workers")
    with subprocess.Popen(
        [COMMAND, "cdx-server", "--port", "0", "--workers", "2"],
        env=environment(folder / "archive", PYTHONUNBUFFERED="1", NWX_CDX_TOKEN=TOKEN),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+(?=/cdx)", process.stdout.readline())
            assert found
            yield Server(process, found[0])
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_all_workers_see_what_one_has_written(server: Server) -> None:
    assert len(server.workers()) == 2
    for number in range(4):
        lines = LINE.format(number).encode()
        assert server.ask("/web", lines) == "Added 1 records\n"
        for _ in range(4):
            assert server.ask("/web?url=a.example").count("\n") == number + 1


def test_a_worker_that_dies_is_replaced(server: Server) -> None:
    before = server.workers()
    for worker in before:
        os.kill(worker, signal.SIGKILL)
    server.wait_for_others(before)
    for _ in range(4):
        assert server.ask("/health") == "ok\n"


def test_workers_are_renewed_without_refusing_a_question(server: Server) -> None:
    before = server.workers()
    answers: list[str] = []
    stop = threading.Event()

    def ask() -> None:
        while not stop.is_set():
            answers.append(server.ask("/health"))

    thread = threading.Thread(target=ask)
    thread.start()
    server.process.send_signal(signal.SIGUSR1)
    end = time.monotonic() + 60
    while server.workers() & before and time.monotonic() < end:
        time.sleep(0.05)
    stop.set()
    thread.join(60)
    assert not server.workers() & before
    assert answers
    assert set(answers) == {"ok\n"}
