"""The cost of links in searches: the same queries with and without them, on both engines.

    python -m benchmarks.linked_search [--documents 100000] [--queries 200] [--engine both]
                                       [--archive FOLDER]

Writes documents with links to each other (Zipf-distributed targets), inverts
the links, and runs queries of one to three words on each engine, alternately
with and without links. Prints the median and the 95th percentile in
milliseconds, processor seconds of this process, and ratios; the least time of
a query's repetitions counts. `--archive` keeps the embedded archive in a
folder for reuse.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.corpus import Words, batches
from benchmarks.searching import draw, figures
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.server_engines import ElasticEngine
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.model import Batch, Document, IndexName, Link
from nwx.query.question import Question
from nwx.settings import RankingSettings, ServerSettings
from nwx.values.urlkeys import urlkey
from tests.elasticsearch.server import node

REPETITIONS = 3
WARM_UP = 20
_OFF = RankingSettings(0, 0)


def main() -> None:
    """Run the comparisons and print their figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--links", type=int, default=20)
    options.add_argument("--queries", type=int, default=200)
    options.add_argument("--engine", choices=("embedded", "elastic", "both"), default="both")
    options.add_argument("--archive", type=Path)
    given = options.parse_args()
    words = Words(50_000, random.Random(7))
    questions = [replace(one, facets=()) for one in draw(words, given.queries)]
    write = partial(_write, words=words, documents=given.documents, links=given.links)
    with tempfile.TemporaryDirectory() as folder:
        if given.engine != "elastic":
            place = given.archive or Path(folder) / "archive"
            if not place.exists():
                write(partial(EmbeddedEngine, place))
            with (
                EmbeddedEngine(place, read_only=True) as linked,
                EmbeddedEngine(place, read_only=True, ranking=_OFF) as plain,
            ):
                compare("embedded", linked, plain, questions)
        if given.engine != "embedded":
            with node() as server:
                settings = ServerSettings(cache=folder)
                write(partial(ElasticEngine, server, settings))
                with (
                    ElasticEngine(server, settings) as linked,
                    ElasticEngine(server, settings, _OFF) as plain,
                ):
                    compare("elastic", linked, plain, questions)


def _write(reopen: Callable[[], Engine], *, words: Words, documents: int, links: int) -> None:
    started = time.perf_counter()
    with reopen() as engine:
        engine.create()
        for batch in linked_batches(documents, words, links):
            engine.write(batch)
        engine.refresh()
        written = time.perf_counter() - started
        report = invert_links(engine, reopen, InlinkBuildOptions())
        print(
            f"{engine.count(IndexName.DOCUMENTS):,} documents in {written:.0f} s,"
            f" {report.links:,} links inverted in {report.seconds:.0f} s"
        )


def linked_batches(documents: int, words: Words, links: int) -> Iterator[Batch]:
    """Yield documents with links to earlier ones, most often to the first."""
    source = random.Random(3)
    targets: list[tuple[str, str]] = []
    for batch in batches(documents, words):
        made = []
        for document in batch.documents:
            capture = replace(document.capture, urlkey=urlkey(document.capture.url))
            found = tuple(_links(targets, words, links, source))
            targets.append((capture.url, document.extract.title))
            made.append(Document(capture, replace(document.extract, links=found)))
        yield replace(batch, documents=tuple(made), captures=tuple(one.capture for one in made))


def _links(
    targets: Sequence[tuple[str, str]], words: Words, count: int, source: random.Random
) -> Iterator[Link]:
    for _ in range(count if targets else 0):
        url, title = targets[int(len(targets) * source.random() ** 3)]
        own = title if source.random() < 0.3 else " ".join(words.draw(source.randint(1, 4), source))
        yield Link(url, own)


@dataclass(frozen=True, slots=True)
class Times:
    """The milliseconds of each question, and the processor seconds of all."""

    milliseconds: list[float]
    processor: float


def compare(name: str, linked: Engine, plain: Engine, questions: Sequence[Question]) -> None:
    """Print the times of questions with and without links."""
    found = _timed([linked, plain], questions)
    (median, high), (plain_median, plain_high) = (figures(one.milliseconds) for one in found)
    processors = [one.processor for one in found]
    print(f"{name:20} median ms   95 %  processor s")
    print(f"with links           {median:9.2f} {high:6.1f} {processors[0]:12.2f}")
    print(f"without              {plain_median:9.2f} {plain_high:6.1f} {processors[1]:12.2f}")
    print(
        f"ratio                {median / plain_median:9.2f} {high / plain_high:6.2f}"
        f" {processors[0] / processors[1]:12.2f}"
    )


def _timed(engines: Sequence[Engine], questions: Sequence[Question]) -> list[Times]:
    """Return the times of questions on engines, which are asked alternately."""
    for question in questions[:WARM_UP]:
        for engine in engines:
            engine.search(question)
    least = [[float("inf")] * len(questions) for _ in engines]
    processors = [0.0] * len(engines)
    for _ in range(REPETITIONS):
        for place, question in enumerate(questions):
            for number, engine in enumerate(engines):
                started, used = time.perf_counter(), time.process_time()
                engine.search(question)
                took = (time.perf_counter() - started) * 1000
                processors[number] += time.process_time() - used
                least[number][place] = min(least[number][place], took)
    return [
        Times(sorted(times), used / REPETITIONS)
        for times, used in zip(least, processors, strict=True)
    ]


if __name__ == "__main__":
    main()
