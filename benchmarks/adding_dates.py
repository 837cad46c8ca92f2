"""Adding dates to both engines, and searching with and without joined dates.

    python -m benchmarks.adding_dates [--dates 1000000] [--per-key 3] [--documents 50000]

Makes a list of dates, adds it to each engine, adds it again (all known), and
prints the rates, with the peak memory of the adding process. Then asks the
same questions of an archive without additional dates, with them in its main
index, and with them in an attached index: the median and the 95th percentile
in milliseconds, and the ratio of the median to that without additional dates.
Starts a separate server.
"""

import argparse
import base64
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from benchmarks.corpus import Words, batches
from benchmarks.searching import draw
from nwx.cdx.inputs import CdxSource
from nwx.dedup.added_dates import DatesLists, add_dates
from nwx.engine.base import Engine, open_engine
from nwx.keys import document_key
from nwx.model import MAIN_DATES, Dates
from nwx.query.question import Question
from nwx.settings import ServerSettings, Settings
from tests.elasticsearch.server import node

PREFIX = "bench"
WARM_UP = 20


def main() -> None:
    """Run the comparison and print its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--dates", type=int, default=1_000_000)
    options.add_argument("--per-key", type=int, default=3)
    options.add_argument("--documents", type=int, default=50_000)
    options.add_argument("--queries", type=int, default=200)
    options.add_argument("--add", nargs=2, metavar=("ENGINE", "LIST"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.add:
        add(*given.add)
        return
    with tempfile.TemporaryDirectory() as folder, node() as server:
        dates = Path(folder) / "list.dup"
        write_list(dates, given.dates, given.per_key)
        print(f"{given.dates:,} dates of {given.dates // given.per_key:,} keys")
        for name, address in (("embedded", f"{folder}/added"), ("elastic", server)):
            first = add_apart(f"{name:>9}    new", address, dates, None)
            add_apart(f"{name:>9}  again", address, dates, first)
        for name, address in (("embedded", f"{folder}/searched-"), ("elastic", server)):
            compare(name, address, given.documents, given.queries)


def add_apart(name: str, address: str, dates: Path, first: float | None) -> float:
    """Add a list in a separate process, for its memory; print the figures, return the seconds."""
    command = [sys.executable, "-m", "benchmarks.adding_dates", "--add", address, str(dates)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    told = json.loads(done.stdout)
    seconds = float(told["seconds"])
    times = f", {first / seconds:.1f} times as fast as the first time" if first else ""
    print(
        f"{name}: {told['lines'] / seconds:>9,.0f} dates/s, {told['new']:,} new,"
        f" {seconds:.1f} s, {told['megabytes']:.0f} MB{times}",
        flush=True,
    )
    return seconds


def write_list(path: Path, dates: int, per_key: int) -> None:
    """Write an unsorted list: all first captures, then all second ones, as from crawls."""
    keys = max(1, dates // per_key)
    digests = [base64.b32encode(random.Random(key).randbytes(20)).decode() for key in range(keys)]
    with path.open("w", encoding="ascii") as stream:
        for number in range(dates):
            crawl, key = divmod(number, keys)
            date = f"{2000 + crawl}{key % 12 + 1:02}{key % 28 + 1:02}120000"
            url = f"http://www.example{key % 1000}.org/news/{key % 97}/page{key}.html"
            stream.write(f"{date} {digests[key]} {url}\n")


def settings(address: str, prefix: str = PREFIX) -> Settings:
    """Return the settings of an archive."""
    return Settings(address, ServerSettings(prefix=prefix, timeout_seconds=120))


def add(address: str, path: str) -> None:
    """Add a list and print the figures as JSON."""
    with open_engine(settings(address)) as engine:
        started = time.perf_counter()
        report = add_dates(engine, DatesLists([CdxSource(path, held=True)]))
        seconds = time.perf_counter() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"lines": report.lists.lines, "new": report.new}
    print(json.dumps({**told, "seconds": seconds, "megabytes": megabytes}))


def compare(name: str, address: str, documents: int, queries: int) -> None:
    """Ask the same questions without additional dates, with one index of dates and with two."""
    words = Words(50_000, random.Random(7))
    questions = draw(words, queries)
    without: list[float] = []
    for where in ("", MAIN_DATES, "attached"):
        place = address + where if name == "embedded" else address
        with open_engine(settings(place, f"{PREFIX}-{where or 'none'}")) as engine:
            keys = fill(engine, Words(50_000, random.Random(7)), documents)
            if where:
                engine.append_dates([Dates(key, SEEN) for key in keys], into=where)
            engine.refresh()
            plain = timed(engine, questions)
            dated = timed(engine, [with_date(question) for question in questions])
        without = without or [median(plain), median(dated)]
        print(
            f"{name:>9}, further dates {where or 'none':>8}: {figures(plain, without[0])};"
            f" with a span: {figures(dated, without[1])}",
            flush=True,
        )


SEEN = tuple((f"20{year}0601000000", "web") for year in range(21, 24))


def fill(engine: Engine, words: Words, documents: int) -> list[str]:
    """Write the documents; return the keys of half of them."""
    engine.create()
    keys = []
    for batch in batches(documents, words):
        engine.write(batch)
        held = [one.capture for one in batch.documents]
        keys += [document_key(one.url, one.digest) for one in held[::2]]
    return keys


def with_date(question: Question) -> Question:
    """Return a question about a span that only has additional dates."""
    return Question(question.query, date_from="2021", date_to="2022", facets=question.facets)


def timed(engine: Engine, questions: Sequence[Question]) -> list[float]:
    """Return the milliseconds of the answers to questions, sorted."""
    for question in questions[:WARM_UP]:
        engine.search(question)
    return sorted(_milliseconds(engine, question) for question in questions)


def figures(took: Sequence[float], without: float) -> str:
    """Return the median, its ratio to that without additional dates, and the 95th percentile."""
    return (
        f"median {median(took):.1f} ms ({median(took) / without:.2f} ×),"
        f" 95 % {took[len(took) * 95 // 100]:.1f} ms"
    )


def _milliseconds(engine: Engine, question: Question) -> float:
    started = time.perf_counter()
    engine.search(question)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
