"""Requests of hostile clients to the port of each serving command."""

import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, environment
from tests.web.replay.played_records import OPENER
from tests.web.test_http import exchange, get

SERVERS = {
    "pages": ["serve", "--create", "--no-replay"],
    "cdx": ["cdx-server", "--cdx-token", "secret"],
    "queue": ["queue", "--queue-token", "secret"],
}


@contextmanager
def _serving(folder: Path, command: list[str]) -> Iterator[int]:
    with subprocess.Popen(
        [COMMAND, *command, "--port", "0", "--workers", "1", "--host-name", "archive.test"],
        env=environment(folder, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)/", process.stdout.readline())
            assert found
            yield int(found[1])
        finally:
            process.terminate()
            assert process.wait(60) == 0


@pytest.mark.parametrize("command", SERVERS.values(), ids=SERVERS)
def test_hostile_requests_are_refused_and_cost_nobody_anything(
    tmp_path: Path, command: list[str]
) -> None:
    with _serving(tmp_path / "archive", command) as port:
        for _ in range(32):
            answer = exchange(port, get("/", *(["A:"] * 250_000)), ends=False)
            assert answer.startswith(b"HTTP/1.1 431 ")
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(600)]
        with OPENER.open(f"http://127.0.0.1:{port}/health", timeout=30) as health:
            assert health.status == 200
        for connection in silent:
            connection.close()
        assert exchange(port, b"GET / HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
        assert exchange(port, get("/", version="2.0")).startswith(b"HTTP/1.1 505 ")
        for host in ("localhost", "127.0.0.1", "[::1]", "Archive.Test:80", "192.0.2.1:1"):
            asked = f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            assert exchange(port, asked.encode()).startswith(b"HTTP/1.1 200 ")
        for host in ("rebound.example", "localhost.rebound.example", "127.0.0.1.rebound.example"):
            asked = f"GET /cdx?url=a HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n"
            answer = exchange(port, asked.encode(), ends=False)
            assert answer.startswith(b"HTTP/1.1 421 ")
            assert b"--host-name" in answer
