"""Query latency of both engines on the same documents.

    python -m benchmarks.searching [--documents 100000] [--queries 300]

Asks queries of one to three words with facets, of each engine in turn,
and prints the median and the 95th percentile in milliseconds and their
ratio; then the same on Elasticsearch without and with the join of dates.
Starts a server of its own.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.corpus import Words, batches
from nwx.engine.base import Engine
from nwx.engine.elastic import ElasticEngine
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import IndexName
from nwx.query.question import Question
from nwx.settings import ElasticSettings
from tests.elasticsearch.server import node

FACETS = ("domain", "type", "status", "language", "year")
WARM_UP = 30


def main() -> None:
    """Run the comparison and print its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--queries", type=int, default=300)
    given = options.parse_args()
    words = Words(50_000, random.Random(7))
    with (
        tempfile.TemporaryDirectory() as folder,
        node() as server,
        EmbeddedEngine(Path(folder) / "archive") as embedded,
        ElasticEngine(server, ElasticSettings()) as elastic,
    ):
        for engine in (embedded, elastic):
            fill(engine, words, given.documents)
        questions = draw(words, given.queries)
        compare(embedded, elastic, questions)
        compare_join(elastic, questions)


def fill(engine: Engine, words: Words, documents: int) -> None:
    """Write the documents and say how long that took."""
    started = time.perf_counter()
    engine.create()
    for batch in batches(documents, words):
        engine.write(batch)
    engine.refresh()
    took = time.perf_counter() - started
    size = sum(stats.bytes or 0 for stats in engine.stats().values())
    held = engine.count(IndexName.DOCUMENTS)
    print(f"{name(engine)}: {held} documents in {took:.0f} s, {size / 1e6:.0f} MB")


def name(engine: Engine) -> str:
    """Return what to call an engine in the output."""
    return "embedded" if isinstance(engine, EmbeddedEngine) else "elastic"


def draw(words: Words, count: int) -> list[Question]:
    """Return questions of one to three words of any frequency."""
    source = random.Random(11)
    ranks = [int(10 ** source.uniform(0.5, 4)) for _ in range(count * 3)]
    return [
        Question(
            " ".join(words.words[rank] for rank in ranks[n * 3 : n * 3 + source.randint(1, 3)]),
            facets=FACETS,
        )
        for n in range(count)
    ]


def timed(ask: Callable[[Question], object], questions: Sequence[Question]) -> list[float]:
    """Return the milliseconds each question took, in order of size."""
    for question in questions[:WARM_UP]:
        ask(question)
    took = []
    for question in questions:
        started = time.perf_counter()
        ask(question)
        took.append((time.perf_counter() - started) * 1000)
    return sorted(took)


def figures(took: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile."""
    return took[len(took) // 2], took[int(len(took) * 0.95)]


def compare(embedded: Engine, elastic: Engine, questions: Sequence[Question]) -> None:
    """Print the latency of both engines; their totals must agree."""
    for question in questions:
        ours, theirs = embedded.search(question), elastic.search(question)
        if ours.documents != theirs.documents:
            raise SystemExit(f"{question.query!r}: {ours.documents} against {theirs.documents}")
    ours = figures(timed(embedded.search, questions))
    theirs = figures(timed(elastic.search, questions))
    print("1-3 words with facets, ms      median     95 %")
    print(f"embedded                    {ours[0]:9.2f} {ours[1]:8.2f}")
    print(f"elastic                     {theirs[0]:9.2f} {theirs[1]:8.2f}")
    print(f"embedded / elastic          {ours[0] / theirs[0]:9.3f} {ours[1] / theirs[1]:8.3f}")


def compare_join(elastic: Engine, questions: Sequence[Question]) -> None:
    """Print what a filter on all dates of a document costs beside a search without one."""
    plain = [replace(question, facets=FACETS[:-1]) for question in questions]
    dated = [replace(question, date_from="2012", date_to="2013") for question in plain]
    without = figures(timed(elastic.search, plain))
    joined = figures(timed(elastic.search, dated))
    print("elastic, ms                    median     95 %")
    print(f"without a date filter       {without[0]:9.2f} {without[1]:8.2f}")
    print(f"filtered by all dates       {joined[0]:9.2f} {joined[1]:8.2f}")
    print(
        f"joined / without            {joined[0] / without[0]:9.2f} {joined[1] / without[1]:8.2f}"
    )


if __name__ == "__main__":
    main()
