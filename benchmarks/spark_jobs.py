"""Spark jobs with one and two executors, compared with the commands on one machine.

`cdx` indexes archive files, `dedup` lists duplicates of CDX lines, `facets`
counts an export of captures. Each runs alternately as a command and as a job
with one and with two executors of one core (separate processes,
`local-cluster`), on files of two sizes: the small one shows the fixed cost of
a job. Prints seconds, processor seconds (of all processes, JVMs included),
processor microseconds per line without the fixed part, and their ratio to the
command's; then the computed number of cluster cores from which a job is faster
than one machine.

    python -m benchmarks.spark_jobs --lines 1000000
    python -m benchmarks.spark_jobs --lines 300000 --jobs dedup --executors 1 2 --repeats 1
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_pages import made_files
from benchmarks.process_family import FamilyWatch
from benchmarks.scale import NWX, children_seconds, made_lines_file
from tests.spark.java import find_java

_SMALL_PART = 100
"""The large input has this many times the lines of the small one."""

_FILES = 16
_MACHINE_CORES = 16
_SIZES = (10**7, 10**8, 10**9)

Arguments = Sequence[object]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison: inputs of two sizes in lines, the command and the job for one of them."""

    name: str
    sizes: tuple[int, int]
    inputs: tuple[Path, Path]
    command: Callable[[Path, Path], Arguments]
    job: Callable[[Path, Path], Arguments]
    engines: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Took:
    """Clock seconds and processor seconds."""

    clock: float
    processor: float


@dataclass(frozen=True, slots=True)
class Line:
    """The linear cost of a way: a fixed part, and a part per line."""

    fixed: Took
    each: Took


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--jobs", nargs="+", default=list(_MAKERS), choices=list(_MAKERS))
    parser.add_argument("--executors", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=2)
    options = parser.parse_args()
    print("| job | way | lines | s | s of processor | fixed | µs a line | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.jobs:
        with tempfile.TemporaryDirectory(prefix="nwx-spark-jobs-") as folder:
            made = _MAKERS[name](Path(folder), options.lines)
            _compare(made, Path(folder), options.executors, options.repeats)


def _compare(made: Comparison, folder: Path, executors: Sequence[int], repeats: int) -> None:
    ways = [0, *executors]
    took: dict[tuple[int, int], list[Took]] = {}
    for _ in range(repeats):
        for size in (0, 1):
            for way in ways:
                took.setdefault((way, size), []).append(_ran(made, folder, way, size))
    lines = {}
    for way in ways:
        small, large = (_least(took[way, size]) for size in (0, 1))
        lines[way] = _line(small, large, made.sizes)
        ratio = lines[way].each.processor / lines[0].each.processor
        shown = f"{way} executors" if way else "command"
        print(
            f"| {made.name} | {shown} | {made.sizes[1]:,} | {large.clock:.1f} |"
            f" {large.processor:.1f} | {lines[way].fixed.processor:.1f} |"
            f" {lines[way].each.processor * 1e6:.2f} | {ratio:.2f} |",
            flush=True,
        )
    if len(ways) > 1:
        _print_crossings(made.name, lines[0], lines[ways[-1]])


def _least(several: Sequence[Took]) -> Took:
    return Took(min(one.clock for one in several), min(one.processor for one in several))


def _line(small: Took, large: Took, sizes: tuple[int, int]) -> Line:
    """Return the line through the measurements of two sizes."""
    more = sizes[1] - sizes[0]
    each = Took(
        max(0.0, large.clock - small.clock) / more,
        max(1e-9, large.processor - small.processor) / more,
    )
    fixed = Took(small.clock - each.clock * sizes[0], small.processor - each.processor * sizes[0])
    return Line(fixed, each)


def _print_crossings(name: str, command: Line, job: Line) -> None:
    """Print the number of cores from which a job is faster than one machine with all its cores.

    The clock time of a job is its fixed part plus its processor time divided by
    the cores; that of a command is its processor time divided by the machine's.
    """
    for size in _SIZES:
        alone = command.fixed.clock + command.each.processor * size / _MACHINE_CORES
        left = alone - job.fixed.clock
        cores = f"{job.each.processor * size / left:,.0f}" if left > 0 else "no number of"
        print(
            f"{name}, {size:,} lines: {alone:,.0f} s on {_MACHINE_CORES} cores of one machine;"
            f" a job is as fast with {cores} cores"
        )


def _ran(made: Comparison, folder: Path, executors: int, size: int) -> Took:
    """Run a command, or the job if there are executors, to its end."""
    out = folder / "out"
    given = (made.inputs[size], out)
    if executors:
        master = ["--master", f"local-cluster[{executors},1,1024]"]
        arguments = ["spark", *made.job(*given), *master, "--quiet"]
    else:
        arguments = [*made.command(*given), "--quiet"]
    environment = os.environ | {
        "JAVA_HOME": str(find_java()),
        "NWX_ENGINE": made.engines[size] or str(folder / "none"),
        "PYTHONPATH": str(Path(__file__).parent.parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    began, before = time.monotonic(), children_seconds()
    process = subprocess.Popen(
        [NWX, *map(str, arguments)], env=environment, stdout=subprocess.DEVNULL
    )
    watch = FamilyWatch(process.pid)
    code = process.wait()
    clock = time.monotonic() - began
    watch.stop()
    if code:
        sys.exit(f"{arguments[:2]} ended with {code}")
    if out.is_dir():
        shutil.rmtree(out)
    out.unlink(missing_ok=True)
    return Took(clock, max(children_seconds() - before, watch.processor))


def _cdx(folder: Path, lines: int) -> Comparison:
    sizes = (
        _FILES,
        max(_FILES * 10, lines // 100),
    )  # a page takes hundreds of times as long as a line
    inputs = []
    for size in sizes:
        inputs.append(folder / f"warcs-{size}")
        inputs[-1].mkdir()
        made_files(inputs[-1], _FILES, size // _FILES)
    return Comparison(
        "cdx",
        sizes,
        (inputs[0], inputs[1]),
        lambda given, out: ["cdx", *sorted(given.iterdir()), "-o", out],
        lambda given, out: ["cdx", out, given],
    )


def _dedup(folder: Path, lines: int) -> Comparison:
    sizes, inputs = _made(folder, lines)
    return Comparison(
        "dedup",
        sizes,
        inputs,
        lambda given, out: ["dedup-cdx", given, "-o", out],
        lambda given, out: ["dedup", out, given],
    )


def _facets(folder: Path, lines: int) -> Comparison:
    sizes, inputs = _made(folder, lines)
    archives, exports = [], []
    for size, cdx in zip(sizes, inputs, strict=True):
        archives.append(str(folder / f"archive-{size}"))
        exports.append(folder / f"export-{size}")
        for arguments in (["cdx-load", cdx], ["export", "captures", exports[-1]]):
            command = [NWX, *map(str, arguments)]
            environment = os.environ | {"NWX_ENGINE": archives[-1]}
            subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return Comparison(
        "facets",
        sizes,
        (exports[0], exports[1]),
        lambda given, out: ["build-facets", "--anew", "--source", given],
        lambda given, out: ["facets", out, given],
        (archives[0], archives[1]),
    )


def _made(folder: Path, lines: int) -> tuple[tuple[int, int], tuple[Path, Path]]:
    sizes = (max(100, lines // _SMALL_PART), lines)
    paths = (folder / f"{sizes[0]}.cdx", folder / f"{sizes[1]}.cdx")
    for size, path in zip(sizes, paths, strict=True):
        made_lines_file(path, size)
    return sizes, paths


_MAKERS: dict[str, Callable[[Path, int], Comparison]] = {
    "cdx": _cdx,
    "dedup": _dedup,
    "facets": _facets,
}

if __name__ == "__main__":
    main()
