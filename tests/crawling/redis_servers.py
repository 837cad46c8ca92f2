"""A real redis-server, nwx dedup-server, and a client that returns the raw bytes of answers."""

import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cli.conftest import COMMAND, environment
from tests.environments import IOREDIS, REDIS_PY, prepare, prepare_npm

REDIS_SERVER = os.environ.get("NWX_TEST_REDIS") or shutil.which("redis-server") or "redis-server"


class RawClient:
    """Sends commands and returns the raw answers."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self._file = self._socket.makefile("rb")

    def __enter__(self) -> "RawClient":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes."""
        self._socket.sendall(data)

    def ask(self, *arguments: bytes) -> bytes:
        """Return the answer to a command."""
        return self.pipeline([arguments])[0]

    def pipeline(self, commands: list[tuple[bytes, ...]]) -> list[bytes]:
        """Return the answers to pipelined commands."""
        self.send(b"".join(map(command_bytes, commands)))
        return [self.read() for _ in commands]

    def read(self) -> bytes:
        """Return one answer; b"" if the connection was closed."""
        line = self._file.readline()
        kind, number = line[:1], line[1:-2]
        if kind == b"$" and number != b"-1":
            return line + self._file.read(int(number) + 2)
        if kind == b"*":
            return line + b"".join(self.read() for _ in range(int(number)))
        return line


def command_bytes(arguments: tuple[bytes, ...]) -> bytes:
    """Return a command in the form that clients send."""
    items = b"".join(b"$%d\r\n%b\r\n" % (len(one), one) for one in arguments)
    return b"*%d\r\n%b" % (len(arguments), items)


@contextmanager
def redis_server(folder: Path) -> Iterator[int]:
    """Run a real redis-server; yield its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    arguments = ["--port", str(port), "--save", "", "--dir", str(folder)]
    process = subprocess.Popen([REDIS_SERVER, *arguments], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout is not None
        for line in process.stdout:
            if "Ready to accept" in line:
                break
        try:
            yield port
        finally:
            process.kill()


class DedupServer:
    """A running `nwx dedup-server`; `port` is the port it listens on."""

    def __init__(self, archive: Path | str, *arguments: str, **variables: str) -> None:
        self.process = subprocess.Popen(
            [COMMAND, "dedup-server", "--port", "0", *arguments],
            env=environment(archive, PYTHONUNBUFFERED="1", **variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        found = re.search(r"redis://[^:]+:(\d+)", self.process.stdout.readline())
        assert found, self.process.communicate(timeout=60)
        self.port = int(found[1])

    def kill(self) -> None:
        """Kill it like a power failure."""
        self.process.kill()
        self.process.communicate()

    def end(self) -> str:
        """End it as Ctrl-C does; return its report."""
        self.process.send_signal(signal.SIGINT)
        err = self.process.communicate(timeout=60)[1]
        assert self.process.returncode == 0, (self.process.returncode, err)
        return str(err)


@contextmanager
def dedup_server(archive: Path | str, *arguments: str, **variables: str) -> Iterator[int]:
    """Run `nwx dedup-server` on an archive; yield its port. It must report nothing."""
    server = DedupServer(archive, *arguments, **variables)
    try:
        yield server.port
        assert server.end() == ""
    finally:
        server.kill()


def own_client(name: str) -> list[str]:
    """Return the command of a program that sends commands through a Redis client library."""
    folder = Path(__file__).parent
    if name == "redis-py":
        return [str(prepare(REDIS_PY)), str(folder / "redis_py_client.py")]
    return ["node", str(folder / "ioredis_client.cjs"), str(prepare_npm(IOREDIS))]
