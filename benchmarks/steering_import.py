"""Import without and with the analysis of each new page, which runs on a separate core.

Makes WARC files (pages of 60 to 80 KB with 155 links; or uses given ones) and
imports them alternately without and with a specification of 100 keywords and
100 entities, each into a new embedded archive. Loading processes are pinned to
one core, analysing ones to another. An additional file is imported first, so
that the analysis is running from the start. Prints the clock and processor
time of loading, until the last file is loaded, and the progress of the
analysis at that time.

    python -m benchmarks.steering_import --repeat 5
    python -m benchmarks.steering_import /data/*.warc.gz
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpus import Words
from benchmarks.made_pages import made_files
from nwx.engine.base import open_engine
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.listener import SteeringListener
from nwx.steering.options import SteeringOptions, SteeringPlan
from nwx.steering.specifications.specification import CrawlSpecification, Entity, Keyword
from nwx.warc.sources import expand

RUNS = ("alone", "steered")
GOAL = 0.10
_WARM_PAGES = 20
"""The number of pages after which the dictionaries are loaded."""
_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("warcs", nargs="*", help="WARC files to take in place of made ones")
    parser.add_argument("--files", type=int, default=4, help="how many to make")
    parser.add_argument("--pages", type=int, default=300, help="pages in each")
    parser.add_argument("--repeat", type=int, default=3, help="take the best of so many runs")
    parser.add_argument("--run", choices=RUNS, help=argparse.SUPPRESS)
    parser.add_argument("--archive", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(_loaded(options.run, options.archive, options.warcs)))
        return
    with tempfile.TemporaryDirectory(prefix="nwx-bench-") as folder:
        warcs = options.warcs or made_files(Path(folder), options.files + 1, options.pages)
        _compare(Path(folder), warcs, options.repeat)


def _compare(folder: Path, warcs: Sequence[str], repeat: int) -> None:
    best: dict[str, dict[str, Any]] = {}
    for turn in range(repeat):
        for name in RUNS:
            found = _run(name, str(folder / f"{name}{turn}"), warcs)
            print(f"{name:8}", found)
            before = best.setdefault(name, dict(found))
            for figure in ("clock", "processor"):
                before[figure] = min(before[figure], found[figure])
    alone, steered = (best[name] for name in RUNS)
    for figure in ("clock", "processor"):
        slower = steered[figure] / alone[figure] - 1
        print(
            f"loading, {figure}: {alone[figure]:.2f} s alone, {steered[figure]:.2f} s beside it:"
            f" {slower:+.1%} (goal at most {GOAL:.0%})"
        )


def _run(name: str, archive: str, warcs: Sequence[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.steering_import", "--run", name]
    done = subprocess.run(
        [*command, "--archive", archive, *warcs], stdout=subprocess.PIPE, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# Measured code runs in a separate process, whose children inherit its core.


def _loaded(name: str, archive: str, warcs: Sequence[str]) -> dict[str, Any]:
    os.sched_setaffinity(0, {_cores()[0]})
    settings = Settings(archive)
    plan = SteeringPlan(
        settings, _specification(), SteeringOptions(jobs=1, make_analyzer=pinned_analyzer)
    )
    with open_engine(settings) as engine, SteeringListener(plan) as listener:
        engine.create()
        load = partial(
            import_files,
            engine,
            settings,
            options=ImportOptions(jobs=1),
            on_documents=listener.on_documents if name == "steered" else None,
        )
        load(expand(warcs[:1]))
        if name == "steered":
            os.sched_setaffinity(listener.process_id or 0, {_cores()[1]})
            while listener.report().analysed < _WARM_PAGES:
                time.sleep(0.1)
        watch = _LoadingWatch()
        began, before = time.perf_counter(), watch.seconds()
        load(expand(warcs[1:]))
        clock, processor = time.perf_counter() - began, watch.stop() - before
        time.sleep(1)  # for the last messages
        report = listener.report()
    return {
        "clock": round(clock, 2),
        "processor": round(processor, 2),
        "analysed": report.analysed,
        "waiting": report.waiting,
        "links": report.links,
    }


def pinned_analyzer(specification: CrawlSpecification, statistics: TermStatistics) -> Analyzer:
    """Pin this process to the second core, and return an analyzer."""
    os.sched_setaffinity(0, {_cores()[1]})
    return Analyzer(specification, statistics)


def _cores() -> list[int]:
    return list(range(os.cpu_count() or 1))[:2] * 2


def _specification() -> CrawlSpecification:
    words = Words(30_000, random.Random(1))
    source = random.Random(2)
    keywords = [Keyword(word) for word in words.draw(100, source)]
    entities = [Entity(" ".join(words.draw(2, source)).title()) for _ in range(100)]
    return CrawlSpecification("benchmark", keywords=tuple(keywords), entities=tuple(entities))


class _LoadingWatch:
    """The processor seconds of this process and of its descendants on the same core."""

    def __init__(self) -> None:
        self._worked: dict[int, float] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def seconds(self) -> float:
        """Return the seconds so far."""
        self._count()
        return sum(self._worked.values())

    def stop(self) -> float:
        """Stop sampling, and return the seconds."""
        self._over.set()
        self._thread.join()
        return self.seconds()

    def _look(self) -> None:
        while not self._over.wait(0.1):
            self._count()

    def _count(self) -> None:
        ours = os.sched_getaffinity(0)
        for pid in _descendants(os.getpid()):
            try:
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                if os.sched_getaffinity(pid) == ours:
                    self._worked[pid] = (int(fields[11]) + int(fields[12])) / _TICKS
                else:
                    self._worked.pop(pid, None)
            except OSError:
                continue


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            try:
                found.extend(map(int, task.read_text().split()))
            except OSError:
                continue
    return found


if __name__ == "__main__":
    main()
