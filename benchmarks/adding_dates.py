"""Adding dates to both engines, and searching with dates joined beside searching without.

    python -m benchmarks.adding_dates [--dates 1000000] [--per-key 3] [--documents 50000]

Makes a list of so many dates, adds it to each engine, adds it again (all
known), and prints the rates, with the peak memory of what adds. Then asks
the same questions of an archive without further dates, with them in its own
index, and with them in an index that is attached: the median and the 95th
percentile in milliseconds. Starts a server of its own.
"""

import argparse
import base64
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.corpus import Words, batches
from benchmarks.searching import draw
from nwx.adding_dates import DatesLists, add_dates
from nwx.dedup.rawblocks import CdxSource
from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.keys import document_key
from nwx.model import MAIN_DATES, Dates
from nwx.searching import Question, search
from nwx.settings import ElasticSettings, Settings
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
            for again in ("new", "again"):
                print(f"{name:>9} {again:>6}: ", end="", flush=True)
                subprocess.run(
                    [sys.executable, "-m", "benchmarks.adding_dates", "--add", address, dates],
                    check=True,
                )
        for name, address in (("embedded", f"{folder}/searched-"), ("elastic", server)):
            compare(name, address, given.documents, given.queries)


def write_list(path: Path, dates: int, per_key: int) -> None:
    """Write a list in no order: all first captures, then all second ones, as crawls come."""
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
    return Settings(address, ElasticSettings(prefix=prefix, timeout_seconds=120))


def add(address: str, path: str) -> None:
    """Add a list and print the rate; in a process of its own, for its memory."""
    with open_engine(settings(address)) as engine:
        started = time.perf_counter()
        report = add_dates(engine, DatesLists([CdxSource(path, held=True)]))
        seconds = time.perf_counter() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{report.lists.lines / seconds:>9,.0f} dates/s, {report.new:,} new, "
        f"{seconds:.1f} s, {megabytes:.0f} MB"
    )


def compare(name: str, address: str, documents: int, queries: int) -> None:
    """Ask the same questions where there are no further dates, in one index and in two."""
    words = Words(50_000, random.Random(7))
    questions = draw(words, queries)
    for where in ("", MAIN_DATES, "attached"):
        place = address + where if name == "embedded" else address
        with open_engine(settings(place, f"{PREFIX}-{where or 'none'}")) as engine:
            keys = fill(engine, Words(50_000, random.Random(7)), documents)
            if where:
                engine.append_dates([Dates(key, SEEN) for key in keys], into=where)
            engine.refresh()
            plain = timed(engine, questions)
            dated = timed(engine, [with_date(question) for question in questions])
        print(f"{name:>9}, further dates {where or 'none':>8}: {plain}; with a span: {dated}")


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
    """Return a question about a span that only further dates are in."""
    return Question(question.query, date_from="2021", date_to="2022", facets=question.facets)


def timed(engine: Engine, questions: Sequence[Question]) -> str:
    """Return the median and the 95th percentile of the answers to questions."""
    for question in questions[:WARM_UP]:
        search(engine, question)
    took = sorted(_milliseconds(engine, question) for question in questions)
    return f"median {took[len(took) // 2]:.1f} ms, 95 % {took[len(took) * 95 // 100]:.1f} ms"


def _milliseconds(engine: Engine, question: Question) -> float:
    started = time.perf_counter()
    search(engine, question)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
