"""`nwx cdx` compared with pywb's cdx-indexer on gzip WARCs, with one process and with two.

Runs both alternately, checks that the lines are the same, and prints records
per second of wall clock and of processor time.

    python benchmarks/cdx.py FOLDER [--times 5] [--files 4]

Small files are repeated (`--times`) and joined to a few large ones (`--files`), as
written by crawlers; with `--files 0` each copy stays a separate file.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from fastwarc.warc import ArchiveIterator

_SUBREAPER = 36  # prctl.h: PR_SET_CHILD_SUBREAPER


@dataclass(frozen=True)
class Figure:
    """The times of a run."""

    name: str
    seconds: float
    processor_seconds: float
    output: bytes


def run(name: str, command: list[str], output: Path) -> Figure:
    """Run a command that writes `output`."""
    before, begun = os.times(), time.perf_counter()
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        sys.exit(f"{name} failed")
    seconds = time.perf_counter() - begun
    _wait_for_orphans()
    after = os.times()
    used = after.children_user + after.children_system
    used -= before.children_user + before.children_system
    content = output.read_bytes()
    output.unlink()
    return Figure(name, seconds, used, content)


def _wait_for_orphans() -> None:
    """Wait for processes left by a command, such as a fork server, to count their time."""
    try:
        while True:
            os.wait()
    except ChildProcessError:
        return


def copies(given: Path, folder: Path, times: int, files: int) -> list[Path]:
    """Copy files `times` times into a folder, joined to a number of files; return their paths."""
    paths = sorted(given.glob("*.warc.gz"))
    for number in range(times):
        for path in paths:
            name = f"{number % files:03}.warc.gz" if files else f"{number}-{path.name}"
            with (folder / name).open("ab") as joined:
                joined.write(path.read_bytes())
    return sorted(folder.glob("*.warc.gz"))


def records_in(paths: list[Path]) -> int:
    """Return the number of records in files."""
    total = 0
    for path in paths:
        with path.open("rb") as stream:
            total += sum(1 for _ in ArchiveIterator(stream, parse_http=False))
    return total


def main() -> None:
    """Run both tools and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--files", type=int, default=4)
    given = parser.parse_args()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as temporary:
        folder, output = Path(temporary), Path(temporary) / "out.cdx"
        files = copies(given.folder, folder, given.times, given.files)
        records = records_in(files)
        names = list(map(str, files))
        binaries = Path(sys.executable).parent
        nwx = [str(binaries / "nwx"), "cdx", *names, "-o", str(output), "--quiet"]
        peer = [str(binaries / "cdx-indexer"), "-s", "-o", str(output), *names]
        figures = [
            run("pywb cdx-indexer", peer, output),
            run("nwx cdx, 1 process", [*nwx, "--jobs", "1"], output),
            run("nwx cdx, 2 processes", [*nwx, "--jobs", "2"], output),
        ]
    size = sum(path.stat().st_size for path in given.folder.glob("*.warc.gz")) * given.times
    print(f"{len(files)} files, {size / 1e6:.0f} MB, {records:,} records")
    first = figures[0]
    for figure in figures:
        print(
            f"{figure.name:22}{figure.seconds:8.2f} s{records / figure.seconds:10,.0f} records/s"
            f"{figure.processor_seconds:8.2f} s CPU"
            f"{first.seconds / figure.seconds:6.2f} times as fast"
        )
    same = len({figure.output for figure in figures}) == 1
    print("all wrote the same lines" if same else "THE LINES DIFFER")
    sys.exit(0 if same else 1)


if __name__ == "__main__":
    main()
