"""Import compared with a plain loop of warcio and BeautifulSoup into the same kind of index.

Makes WARC files (pages of 60 to 80 KB, an image for every second one; or uses
given ones), imports them alternately with nwx, with the loop, and with the
loop in as many processes as nwx, each into a new embedded archive, and prints
captures and MB of WARC per second, the share of the single writer process, the
ratios, the peak memory of all processes together for one file and for many,
the time for files already imported, and the sizes of index and text. With
`--elastic` it imports into both engines instead, and prints the processor time
of the server. With `--digests` it compares imports with and without additional
digests, with `--enrich` with and without enrichers.

    python -m benchmarks.importing --files 8 --pages 150
    python -m benchmarks.importing /data/*.warc.gz
    python -m benchmarks.importing --elastic
    python -m benchmarks.importing --digests --repeat 9 --jobs 1 /data/*.warc.gz
    python -m benchmarks.importing --enrich all --repeat 5 --jobs 1 /data/*.warc.gz
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.made_pages import made_files
from benchmarks.process_family import FamilyWatch, family_seconds
from nwx.engine.base import open_engine
from nwx.importing import ImportOptions, ImportReport, import_files, import_report_json, warm_up
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings
from nwx.warc.sources import expand


@dataclass(frozen=True, slots=True)
class Figure:
    """The figures of a run; `writer` is the processor time of the single writer process."""

    name: str
    seconds: float
    captures: int
    memory: int
    processor: float
    writer: float


def main() -> None:
    """Run the benchmark and print its figures."""
    options = _options()
    if options.run:
        _run_one(options)
        return
    with tempfile.TemporaryDirectory(prefix="nwx-bench-") as folder:
        if options.elastic:
            from tests.elasticsearch.server import node

            with node(frugal=False) as server:
                _compare_engines(options, Path(folder), server)
        elif options.digests:
            _compare_added("digests", 8, options, Path(folder))
            _print_digests(Path(folder) / "digests0")
        elif options.enrich:
            _compare_added("enrich", 25, options, Path(folder))
        else:
            _compare(options, Path(folder))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("warcs", nargs="*", help="WARC files to take in place of made ones")
    parser.add_argument("--files", type=int, default=8, help="how many to make")
    parser.add_argument("--pages", type=int, default=150, help="pages in each")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=1, help="take the best of so many runs")
    parser.add_argument("--memory-files", type=int, default=100, help="many files, for memory")
    parser.add_argument("--memory-pages", type=int, default=300, help="pages in each of them")
    parser.add_argument("--only-memory", action="store_true")
    parser.add_argument("--elastic", action="store_true", help="into both engines")
    parser.add_argument("--digests", action="store_true", help="with and without --digests")
    parser.add_argument("--enrich", default="", help="with and without these enrichers")
    parser.add_argument("--run", choices=(*RUNS, *ADDED), help=argparse.SUPPRESS)
    parser.add_argument("--archive", help=argparse.SUPPRESS)
    return parser.parse_args()


def _compare(options: argparse.Namespace, folder: Path) -> None:
    if options.only_memory:
        _print_memory(folder, options)
        return
    warcs = options.warcs or made_files(folder, options.files, options.pages)
    size = sum(Path(warc).stat().st_size for warc in warcs)
    print(f"{len(warcs)} files, {size / 1e6:.0f} MB of WARC")
    figures: dict[str, Figure] = {}
    for turn in range(options.repeat):
        for name in RUNS:
            figure = _measured(name, str(folder / f"{name}{turn}"), warcs, options)
            if name not in figures or figure.seconds < figures[name].seconds:
                figures[name] = figure
    for figure in figures.values():
        _print_figure(figure, size)
    nwx = figures["nwx"]
    again = _measured("nwx", str(folder / "nwx0"), warcs, options)
    _print_ratios(figures, options.jobs)
    print(f"what is there already: {nwx.seconds / again.seconds:.1f}x as fast (goal 5x)")
    if not options.warcs:
        _print_crawled_again(folder, nwx, options)
    _print_sizes(folder / "nwx0")
    _print_memory(folder, options)


def _print_figure(figure: Figure, size: int) -> None:
    print(
        f"{figure.name:18} {figure.seconds:7.2f} s {figure.captures / figure.seconds:8.0f}"
        f" captures/s {size / 1e6 / figure.seconds:7.1f} MB/s {figure.memory / 1e6:6.0f} MB"
        f" {figure.processor:7.2f} s of processor, {figure.writer:.2f} s of them the writer's"
    )


def _print_ratios(figures: dict[str, Figure], jobs: int) -> None:
    nwx, loop, loops = figures["nwx"], figures["loop"], figures["loops"]
    print(f"the writer has {nwx.writer / nwx.processor:.1%} of the processor time (goal 15 %)")
    print(
        f"nwx beside the loop: {loop.seconds / nwx.seconds:.1f}x (goal 8x),"
        f" by processor time {loop.processor / nwx.processor:.1f}x"
    )
    print(
        f"nwx beside the loop in {jobs} processes: {loops.seconds / nwx.seconds:.1f}x (goal 5x),"
        f" by processor time {loops.processor / nwx.processor:.1f}x"
    )


def _print_crawled_again(folder: Path, nwx: Figure, options: argparse.Namespace) -> None:
    """Print the import of known pages, from the files of a crawl a year later."""
    later = folder / "later"
    later.mkdir()
    warcs = made_files(later, options.files, options.pages, year=2017)
    again = _measured("nwx", str(folder / "nwx0"), warcs, options)
    print(f"pages of a crawl that found nothing new: {nwx.seconds / again.seconds:.1f}x as fast")


def _print_sizes(archive: Path) -> None:
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        text = 0
        for entry in engine.scan(IndexName.DOCUMENTS):
            text += len(f"{entry.get('title', '')}{entry.get('content', '')}".encode())
        stats = engine.stats()
    for index, found in stats.items():
        if found.bytes:
            print(f"index {index:10} {found.bytes / 1e6:8.1f} MB")
    documents = stats[IndexName.DOCUMENTS].bytes or 0
    print(f"text {text / 1e6:.1f} MB; documents take {documents / text:.2f} of it")


def _print_memory(folder: Path, options: argparse.Namespace) -> None:
    many = folder / "many"
    many.mkdir()
    warcs = made_files(many, options.memory_files, options.memory_pages)
    one = _measured("nwx", str(many / "archive-one"), warcs[:1], options, jobs=1)
    lots = _measured("nwx", str(many / "archive-many"), warcs, options, jobs=1)
    print(
        f"memory: {one.memory / 1e6:.0f} MB for 1 file, {lots.memory / 1e6:.0f} MB for"
        f" {len(warcs)}: {lots.memory / one.memory - 1:+.0%} (goal within 20 %)"
    )


def _compare_engines(options: argparse.Namespace, folder: Path, server: str) -> None:
    """Import into both engines alternately."""
    warcs = options.warcs or made_files(folder, options.files, options.pages)
    size = sum(Path(warc).stat().st_size for warc in warcs)
    found: dict[str, Figure] = {}
    for turn in range(options.repeat):
        for name, archive in (("embedded", str(folder / str(turn))), ("elastic", server)):
            before = family_seconds(os.getpid())
            figure = _measured("nwx", archive, warcs, options)
            served = family_seconds(os.getpid()) - before
            _print_figure(replace(figure, name=name), size)
            if name == "elastic":
                share = served / (served + figure.processor)
                print(f"{served:.2f} s of processor of the server, {share:.0%} of all")
            if name not in found or figure.seconds < found[name].seconds:
                found[name] = figure
    ratio = found["elastic"].seconds / found["embedded"].seconds
    print(f"Elasticsearch takes {ratio:.2f}x the time of the embedded engine (goal 1.5x)")


ADDED = ("digests", "enrich")


def _compare_added(added: str, goal: int, options: argparse.Namespace, folder: Path) -> None:
    """Import without and with additional digests or enrichers, alternately."""
    warcs = options.warcs or made_files(folder, options.files, options.pages)
    size = sum(Path(warc).stat().st_size for warc in warcs)
    print(f"{len(warcs)} files, {size / 1e6:.0f} MB of WARC")
    best: dict[str, Figure] = {}
    for turn in range(options.repeat):
        for name in ("nwx", added):
            figure = _measured(name, str(folder / f"{name}{turn}"), warcs, options)
            if name not in best or figure.processor < best[name].processor:
                best[name] = figure
    for figure in best.values():
        _print_figure(figure, size)
    more = best[added].processor / best["nwx"].processor - 1
    print(f"{added}: {more:+.1%} of processor time (goal +{goal} %)")


def _print_digests(archive: Path) -> None:
    with open_engine(Settings(str(archive)), read_only=True) as engine:
        stats = engine.stats()[IndexName.DIGESTS]
    print(f"{stats.entries:,} digests, {(stats.bytes or 0) / (stats.entries or 1):.0f} bytes each")


# Measured code runs in a separate process, so that its memory is separate.


def _measured(
    name: str,
    archive: str,
    warcs: Sequence[str],
    options: argparse.Namespace,
    jobs: int | None = None,
) -> Figure:
    command = [sys.executable, "-m", "benchmarks.importing", "--run", name]
    command += ["--archive", archive, "--jobs", str(jobs or options.jobs)]
    command += [*(["--enrich", options.enrich] if options.enrich else []), *warcs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        watch = FamilyWatch(process.pid)
        out, _ = process.communicate()
        watch.stop()
    if process.returncode:
        sys.exit(f"the run of {name} failed")
    seconds, captures, writer = out.split()
    return Figure(name, float(seconds), int(captures), watch.memory, watch.processor, float(writer))


def _run_one(options: argparse.Namespace) -> None:
    began, worked = time.perf_counter(), time.process_time()
    captures = _nwx(options) if options.run in ADDED else RUNS[options.run](options)
    print(time.perf_counter() - began, captures, time.process_time() - worked)


def _nwx(options: argparse.Namespace) -> int:
    prefix = f"bench{time.time_ns()}"
    settings = Settings(options.archive, server=ServerSettings(prefix=prefix))
    warm_up(settings)  # as `nwx import` does before it opens the archive
    with open_engine(settings) as engine:
        engine.create()
        digests = "sha256" if options.run == "digests" else None
        enrich = (options.enrich,) if options.run == "enrich" else ()
        wanted = ImportOptions(jobs=options.jobs, digests=digests, enrich=enrich)
        report = import_files(engine, settings, expand(options.warcs), wanted)
    _check(report)
    return report.captures or 1


def _check(report: ImportReport) -> None:
    if report.errors_total:
        print(import_report_json(report), file=sys.stderr)


def _loop(options: argparse.Namespace) -> int:
    from benchmarks.plain_loop import run_loop  # its libraries must not be loaded for nwx

    return run_loop(options.archive, options.warcs)


def _loops(options: argparse.Namespace) -> int:
    from benchmarks.plain_loop import run_loops

    return run_loops(options.archive, options.warcs, options.jobs)


RUNS: dict[str, Callable[[argparse.Namespace], int]] = {
    "nwx": _nwx,
    "loop": _loop,
    "loops": _loops,
}


if __name__ == "__main__":
    main()
