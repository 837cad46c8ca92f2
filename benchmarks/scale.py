"""The cost per capture as archives grow: CDX load, dedup-cdx, zipnum build, build-facets.

Makes a sorted CDX file of each size, runs each command on it in a separate
process, and prints processor microseconds and bytes of disk per capture, the
peak and the final disk usage, the peak memory, and the ratio to the smallest
size, which stays near 1 for commands of linear cost. With `--server` the
captures are loaded into a server too: one line for the client's work, one for
the server's, with its bytes at that time, and one for merging all segments.

    python -m benchmarks.scale --sizes 100000 1000000
    nice python -m benchmarks.scale --sizes 100000 1000000 10000000 --steps dedup zipnum
    python -m benchmarks.scale --sizes 1000000 --steps --server elasticsearch opensearch
"""

import argparse
import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.dedup_cdx import HEADER, make
from benchmarks.process_family import FamilyWatch, family_memory, family_seconds

NWX = str(Path(sys.executable).parent / "nwx")
_MILLION = 1_000_000
_KEY_HOST = re.compile(rb"^([^)\n]*)\)", re.MULTILINE)
STEPS = ("load", "facets", "dedup", "zipnum")
SERVERS = {"elasticsearch": "", "opensearch": "opensearch+"}


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a command for a number of captures: final `disk`, peak `most_disk`."""

    step: str
    captures: int
    processor: float
    seconds: float
    memory: int
    disk: int
    most_disk: int = 0

    @property
    def each_us(self) -> float:
        """Processor microseconds per capture."""
        return self.processor / self.captures * 1e6


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--steps", nargs="*", choices=STEPS, default=list(STEPS))
    parser.add_argument("--server", nargs="+", choices=SERVERS, default=[], metavar="PRODUCT")
    parser.add_argument("--tmp", type=Path, help="where files and archives are made")
    options = parser.parse_args()
    costs: list[Cost] = []
    print("| step | captures | µs of processor | ratio | s | MB of memory | bytes | most disk |")
    print("|---|---|---|---|---|---|---|---|")
    for size in options.sizes:
        with tempfile.TemporaryDirectory(prefix="nwx-scale-", dir=options.tmp) as folder:
            for cost in _costs(Path(folder), size, options):
                costs.append(cost)
                print(_line(cost, costs), flush=True)


def _line(cost: Cost, costs: Sequence[Cost]) -> str:
    first = next(one for one in costs if one.step == cost.step)
    return (
        f"| {cost.step} | {cost.captures:,} | {cost.each_us:.2f} |"
        f" {cost.each_us / first.each_us:.2f} | {cost.seconds:.1f} | {cost.memory >> 20:,} |"
        f" {cost.disk / cost.captures:.1f} | {cost.most_disk / cost.disk:.2f} |"
    )


def made_lines_file(path: Path, size: int) -> None:
    """Write a sorted CDX file; each additional million repeats the first for new hosts and files.

    The file is ordered by urlkey, like the merged captures of a collection.
    """
    make(path, min(size, _MILLION))
    if size <= _MILLION:
        return
    lines = path.read_bytes()[len(HEADER) :]
    with path.open("ab") as file:
        for number in range(1, -(-size // _MILLION)):
            mark = f"x{number:03}".encode()
            further = lines.replace(b"//www.", b"//www.%b." % mark)
            further = further.replace(b".warc.gz\n", b"-%b.warc.gz\n" % mark)
            file.write(_KEY_HOST.sub(rb"\1,%b)" % mark, further))
    command = ["sort", "-S", "25%", "-T", str(path.parent), "-o", str(path), str(path)]
    subprocess.run(command, check=True, env=os.environ | {"LC_ALL": "C"})


def _costs(folder: Path, size: int, options: argparse.Namespace) -> Iterator[Cost]:
    cdx, archive = folder / "made.cdx", folder / "archive"
    made_lines_file(cdx, size)
    if "dedup" in options.steps:
        yield _ran("dedup", size, ["dedup-cdx", cdx, "-o", folder / "list"], folder / "list")
    if "zipnum" in options.steps:
        yield _ran("zipnum", size, ["zipnum", "build", folder / "zip", cdx], folder / "zip")
    if {"load", "facets"} & set(options.steps):
        yield _ran("load", size, ["cdx-load", cdx], archive)
    if "facets" in options.steps:
        before = _size(archive)
        facets = _ran("facets", size, ["build-facets", "--quiet"], archive)
        yield replace(facets, disk=facets.disk - before, most_disk=facets.most_disk - before)
    for product in options.server:
        yield from _loaded_into_server(cdx, size, product)


def _ran(step: str, size: int, arguments: Sequence[object], result: Path, engine: str = "") -> Cost:
    """Run nwx to its end and return its cost."""
    environment = os.environ | {"NWX_ENGINE": engine or str(result)}
    options = ["--quiet"] if step in ("dedup", "zipnum") else []
    began, before = time.monotonic(), children_seconds()
    process = subprocess.Popen(
        [NWX, *map(str, arguments), *options], env=environment, stdout=subprocess.DEVNULL
    )
    watch, most_disk = FamilyWatch(process.pid), 0
    while process.poll() is None:
        most_disk = max(most_disk, _size(result))
        time.sleep(0.1)
    watch.stop()
    if process.returncode:
        raise SystemExit(f"{step} ended with {process.returncode}")
    # Neither is complete: one misses grandchildren that nobody waits for, one misses short work.
    worked = max(children_seconds() - before, watch.processor)
    disk = _size(result)
    most_disk = max(most_disk, disk)
    return Cost(step, size, worked, time.monotonic() - began, watch.memory, disk, most_disk)


def _loaded_into_server(cdx: Path, size: int, product: str) -> Iterator[Cost]:
    from tests.elasticsearch.server import PRODUCTS, node

    with node(PRODUCTS[product], frugal=False) as address:
        before = family_seconds(os.getpid())
        loaded = _ran(
            f"{product}: client", size, ["cdx-load", cdx], cdx, SERVERS[product] + address
        )
        worked, memory = family_seconds(os.getpid()), family_memory(os.getpid())
        stored = _captures_bytes(address)
        yield replace(loaded, disk=stored, most_disk=stored)
        step = f"{product}: server"
        yield Cost(step, size, worked - before, loaded.seconds, memory, stored)
        _wait_for_leases(address)
        worked, began = family_seconds(os.getpid()), time.monotonic()
        _ask(address, "_forcemerge?max_num_segments=1&flush=true", "POST")
        seconds, worked = time.monotonic() - began, family_seconds(os.getpid()) - worked
        yield Cost(f"{product}: merge", size, worked, seconds, memory, _captures_bytes(address))


def _captures_bytes(address: str) -> int:
    for what in ("_flush", "_refresh"):
        _ask(address, what, "POST")
    return int(_ask(address, "_stats/store")["_all"]["primaries"]["store"]["size_in_bytes"])


def _wait_for_leases(address: str) -> None:
    """Wait until no retention lease keeps operations: until then merges keep their sources."""
    while True:
        (index,) = _ask(address, "_stats?level=shards")["indices"].values()
        (copy,) = index["shards"]["0"]
        leases = copy["retention_leases"]["leases"]
        if min(one["retaining_seq_no"] for one in leases) > copy["seq_no"]["max_seq_no"]:
            return
        time.sleep(1)


def _ask(address: str, what: str, method: str = "GET") -> Any:
    request = urllib.request.Request(f"{address}/nwx-captures/{what}", method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def children_seconds() -> float:
    """Return the processor seconds of all ended child processes."""
    times = os.times()
    return times.children_user + times.children_system


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    total = 0
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            total += file.stat().st_size if file.is_file() else 0
    return total


if __name__ == "__main__":
    main()
