"""CDX servers for the benchmark, each in a process, and measures of their cost."""

import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

TOKEN = "benchmark"


@contextmanager
def nwx_server(
    options: Sequence[str], arguments: Sequence[str]
) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Yield the port of a CDX server of nwx, and its process."""
    command = [nwx_command(), *options, "cdx-server", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r":(\d+)/cdx", process.stdout.readline())
            assert found
            yield int(found[1]), process
        finally:
            process.terminate()


@contextmanager
def pywb_server(folder: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Yield the port of pywb's CDX server, and its process."""
    port = free_port()
    command = [str(Path(sys.executable).with_name("warcserver")), "-p", str(port)]
    with peer(command, folder, port) as process:
        yield port, process


@contextmanager
def outback_server(jar: Path, folder: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Yield the port of an OutbackCDX with data in a new folder, and its process."""
    folder.mkdir()
    port = free_port()
    command = ["java", "-Xmx512m", "-jar", str(jar.absolute()), "-d", ".", "-p", str(port)]
    with peer([*command, "-b", "127.0.0.1"], folder, port) as process:
        yield port, process


def free_port() -> int:
    """Return an unused port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


@contextmanager
def peer(command: Sequence[str], folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """Yield the process of another server, once it listens."""
    with subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_for(port, command[0])
            yield process
        finally:
            process.terminate()


def _wait_for(port: int, name: str) -> None:
    for _ in range(300):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise SystemExit(f"{name} does not answer")


def nwx_command() -> str:
    return str(Path(sys.executable).with_name("nwx"))


def tree_seconds(pid: int) -> float:
    """Return the processor seconds of a process and its descendants."""
    return sum(map(processor_seconds, _tree(pid)))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _tree(int(child))


def processor_seconds(pid: int) -> float:
    """Return the processor seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_megabytes(pid: int) -> float:
    """Return the peak memory of a process and its descendants in MB."""
    kilobytes = 0
    for one in _tree(pid):
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{one}/status").read_text())
        assert found
        kilobytes += int(found[1])
    return kilobytes / 1024


def folder_bytes(folder: Path) -> int:
    """Return the bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


Figures = dict[str, dict[str, float]]
"""Measured values of servers and sources, by name."""

_COMPARED = (
    ("embedded", "bytes", 1.23),
    ("embedded", "look-ups/s", 1),
    ("ZipNum", "look-ups/s", 0.7),
    ("CDX file", "look-ups/s", 1),
    ("embedded", "look-up ms", 1),
    ("embedded", "prefix lines/s", 1.5),
    ("embedded", "POST captures/s", 1),
    ("embedded", "load µs", None),
)
"""Names, figures and target ratios to OutbackCDX: the highest for bytes and times."""


def print_comparison(figures: Mapping[str, Mapping[str, float]]) -> None:
    """Print the figures of nwx next to OutbackCDX's, with the ratios."""
    print("| | nwx | OutbackCDX | ratio | goal |\n|---|---|---|---|---|")
    for name, figure, goal in _COMPARED:
        ours, peers = figures[name][figure], figures["OutbackCDX"][figure]
        shown = f"{ours:,.2f} | {peers:,.2f}" if peers < 10 else f"{ours:,.0f} | {peers:,.0f}"
        print(f"| {figure}, {name} | {shown} | {ours / peers:.2f} | {goal or ''} |")
