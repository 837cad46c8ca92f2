"""Query latency of both engines on the same documents, and of the embedded one by size.

    python -m benchmarks.searching [--documents 100000] [--queries 300] [--opensearch]
    python -m benchmarks.searching --sweep 100000,300000,1000000 [--archive FOLDER]

Runs queries of one to three words with facets alternately on both engines,
and prints the median and the 95th percentile in milliseconds and their
ratio; then the same on Elasticsearch without and with the join of dates, by
the clock and in processor seconds of client and server together. It starts a
separate server, with `--opensearch` of OpenSearch: the Elasticsearch from
Maven Central runs no scripts, unlike a full one.

With `--sweep` it measures the embedded engine at several sizes, and tantivy
alone for the best ten in titles and texts, and their number. Archives stay in
FOLDER for reuse; writing a million documents takes a quarter of an hour.
"""

import argparse
import multiprocessing
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import tantivy

from benchmarks.corpus import Words, batches
from benchmarks.process_family import family_seconds
from nwx.engine.analyzer import ANALYZER, text_analyzer
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.server_engines import ElasticEngine, OpenSearchEngine
from nwx.model import IndexName
from nwx.query.question import Question
from nwx.settings import ServerSettings
from tests.elasticsearch.distribution import ELASTICSEARCH
from tests.elasticsearch.server import node
from tests.opensearch.distribution import OPENSEARCH

FACETS = ("domain", "type", "status", "language", "year")
WARM_UP = 30
REPETITIONS = 5


def main() -> None:
    """Run the comparison and print its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--queries", type=int, default=300)
    options.add_argument("--opensearch", action="store_true", help="in place of Elasticsearch")
    options.add_argument("--sweep", default="", metavar="SIZES")
    options.add_argument("--archive", type=Path, metavar="FOLDER")
    given = options.parse_args()
    with ExitStack() as stack:
        folder = given.archive or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        if given.sweep:
            sweep(folder, [int(size) for size in given.sweep.split(",")], given.queries)
        else:
            compare_engines(folder, given.documents, given.queries, opensearch=given.opensearch)


def compare_engines(folder: Path, documents: int, queries: int, *, opensearch: bool) -> None:
    """Print the times of the embedded engine and a server for the same questions."""
    words = Words(50_000, random.Random(7))
    questions = draw(words, queries)
    product = OPENSEARCH if opensearch else ELASTICSEARCH
    with node(product, frugal=False) as server:
        opened: Engine = (OpenSearchEngine if opensearch else ElasticEngine)(
            server, ServerSettings()
        )
        with opened:
            fill(opened, words, documents)
            with archive(folder, words, documents) as embedded:
                compare(embedded, opened, questions)
            compare_join(opened, questions)


def archive(folder: Path, words: Words, documents: int) -> EmbeddedEngine:
    """Return the archive of a number of documents, written unless it exists."""
    path = folder / str(documents)
    if not path.exists():
        with EmbeddedEngine(path.with_name("writing")) as engine:
            fill(engine, words, documents)
        path.with_name("writing").rename(path)
    return EmbeddedEngine(path, read_only=True)


def sweep(folder: Path, sizes: Sequence[int], queries: int) -> None:
    """Print the times of searches at several sizes, each in a separate process."""
    words = Words(50_000, random.Random(7))
    for size in sizes:
        archive(folder, words, size).close()
    print("1-3 words, ms, clock (processor)     documents         median           95 %")
    for size in sizes:
        asking = multiprocessing.get_context("spawn").Process(
            target=ask_size, args=(folder, size, queries)
        )
        asking.start()
        asking.join()


def ask_size(folder: Path, size: int, queries: int) -> None:
    """Print the times of searches in one archive, and the memory."""
    words = Words(50_000, random.Random(7))
    questions = draw(words, queries)
    plain = [replace(question, facets=()) for question in questions]
    began = time.perf_counter()
    with archive(folder, words, size) as engine:
        engine.search(questions[0])
        opening = (time.perf_counter() - began) * 1000
        once, first = [once_timed(engine.search, one) for one in questions], memory()
        show("with facets, first time", size, once)
        alone = tantivy_alone(folder / str(size) / "documents")
        pairs = [(engine.search, questions), (engine.search, plain), (alone, plain)]
        taken = interleaved(pairs)
        for name, took in zip(
            ("with facets", "without facets", "tantivy alone"), taken, strict=True
        ):
            show(name, size, took)
    print(f"opening and the first question: {opening:.0f} ms; {first} after {queries} questions")


def once_timed(ask: Callable[[Question], object], question: Question) -> tuple[float, float]:
    """Return the milliseconds of a question, by the clock and of the processor."""
    clock, processor = time.perf_counter(), time.process_time()
    ask(question)
    return (time.perf_counter() - clock) * 1000, (time.process_time() - processor) * 1000


def interleaved(
    pairs: Sequence[tuple[Callable[[Question], object], Sequence[Question]]],
) -> list[list[tuple[float, float]]]:
    """Return for each pair the least times of each question, with all asked alternately."""
    taken = [[(1e9, 1e9)] * len(questions) for _, questions in pairs]
    for _ in range(REPETITIONS):
        for (ask, questions), best in zip(pairs, taken, strict=True):
            for place, question in enumerate(questions):
                clock, processor = once_timed(ask, question)
                best[place] = min(clock, best[place][0]), min(processor, best[place][1])
    return taken


def tantivy_alone(folder: Path) -> Callable[[Question], object]:
    """Return a function that asks tantivy for the best ten documents by title and text."""
    index = tantivy.Index.open(str(folder))
    index.register_tokenizer(ANALYZER, text_analyzer())
    searcher = index.searcher()

    def ask(question: Question) -> object:
        query = index.parse_query(
            question.text,
            ["title", "content"],
            field_boosts={"title": 3.0},
            conjunction_by_default=True,
        )
        return searcher.search(query, 10)

    return ask


def show(name: str, size: int, took: Sequence[tuple[float, float]]) -> None:
    """Print the median and the 95th percentile."""
    (median, late), (own_median, own_late) = (
        figures(sorted(one)) for one in zip(*took, strict=True)
    )
    print(f"{name:32} {size:13} {median:7.1f} ({own_median:5.1f}) {late:6.1f} ({own_late:5.1f})")


def memory() -> str:
    """Return the private memory of this process, and that mapped from files."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    sizes = dict(line.split(":", 1) for line in status.splitlines())
    own, mapped = (int(sizes[name].split()[0]) / 1000 for name in ("RssAnon", "RssFile"))
    return f"{own:.0f} MB own, {mapped:.0f} MB mapped"


def fill(engine: Engine, words: Words, documents: int) -> None:
    """Write the documents and print the time."""
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
    """Return the name of an engine for the output."""
    return "embedded" if isinstance(engine, EmbeddedEngine) else "server"


def draw(words: Words, count: int) -> list[Question]:
    """Return queries of one to three words of any frequency."""
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
    """Return the milliseconds of each question, sorted."""
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


def compare(embedded: Engine, server: Engine, questions: Sequence[Question]) -> None:
    """Print the latency of both engines; their totals must be equal."""
    for question in questions:
        ours, theirs = embedded.search(question), server.search(question)
        if ours.documents != theirs.documents:
            raise SystemExit(f"{question.query!r}: {ours.documents} against {theirs.documents}")
    ours = figures(timed(embedded.search, questions))
    theirs = figures(timed(server.search, questions))
    print("1-3 words with facets, ms      median     95 %")
    print(f"embedded                    {ours[0]:9.2f} {ours[1]:8.2f}")
    print(f"server                      {theirs[0]:9.2f} {theirs[1]:8.2f}")
    print(f"embedded / server           {ours[0] / theirs[0]:9.3f} {ours[1] / theirs[1]:8.3f}")


def compare_join(server: Engine, questions: Sequence[Question]) -> None:
    """Print the cost of a filter on all dates of a document, compared with no date filter.

    By the clock, the least of each question counts; of the processor, the least of a round.
    """
    plain = [replace(question, facets=FACETS[:-1]) for question in questions]
    dated = [replace(question, date_from="2012", date_to="2013") for question in plain]
    kinds = {"without a date filter": plain, "filtered by all dates": dated}
    clock = {kind: [1e9] * len(questions) for kind in kinds}
    processor = dict.fromkeys(kinds, 1e9)
    for turn in range(REPETITIONS):
        for kind, asked in kinds.items():
            before = family_seconds(os.getpid())
            took = [once_timed(server.search, question)[0] for question in asked]
            worked = family_seconds(os.getpid()) - before
            if turn:  # the first one compiles the server's code, and reads the list of documents
                clock[kind] = [min(pair) for pair in zip(clock[kind], took, strict=True)]
                processor[kind] = min(processor[kind], worked * 1000 / len(questions))
    rows = [(*figures(sorted(clock[kind])), processor[kind]) for kind in kinds]
    print("server, ms                     median     95 %  processor, mean")
    for kind, row in zip(kinds, rows, strict=True):
        print(f"{kind:27} {row[0]:9.2f} {row[1]:8.2f} {row[2]:16.2f}")
    ratios = [joined / without for without, joined in zip(*rows, strict=True)]
    print(f"joined / without            {ratios[0]:9.2f} {ratios[1]:8.2f} {ratios[2]:16.2f}")


if __name__ == "__main__":
    main()
