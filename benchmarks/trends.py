"""How long six queries over time take, beside six searches with a facet of years.

    python -m benchmarks.trends [--documents 100000] [--repetitions 9]
                                [--archive FOLDER] [--elastic | --address URL]

Six queries of one to three words are compared by year and by month, as
`/trends` does: seven questions, as the whole archive is counted too. The peer
is what one would ask without it: a search with a facet of years for each of
the six, without snippets. Both are asked in turn; the least of the
repetitions counts, in milliseconds of the clock and of processor: that of
this process, and that of the server. With `--elastic` they are asked of a
server of its own instead of the embedded engine, with `--address` of a server
that holds the documents, where its processor time is not known.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.corpus import Words
from benchmarks.process_family import family_seconds
from benchmarks.searching import archive, fill
from nwx.engine.base import Engine
from nwx.engine.elastic import ElasticEngine
from nwx.model import Collapse
from nwx.query.periods import Period
from nwx.query.question import Question
from nwx.searching.trends import MOST_QUERIES, trends
from nwx.settings import ServerSettings
from tests.elasticsearch.server import node

_GOAL_MS = 300.0


def main() -> None:
    """Print what trends take, beside searches."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=100_000)
    options.add_argument("--repetitions", type=int, default=9)
    options.add_argument("--archive", type=Path, metavar="FOLDER")
    options.add_argument("--elastic", action="store_true")
    options.add_argument("--address", metavar="URL")
    given = options.parse_args()
    words = Words(50_000, random.Random(7))
    source = random.Random(11)
    queries = [" ".join(words.draw(1 + number % 3, source)) for number in range(MOST_QUERIES)]
    with ExitStack() as stack:
        if given.elastic or given.address:
            address = given.address or stack.enter_context(node())
            engine: Engine = stack.enter_context(ElasticEngine(address, ServerSettings()))
            if given.elastic:
                fill(engine, words, given.documents)
        else:
            folder = given.archive or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            engine = stack.enter_context(archive(folder, words, given.documents))
        compare(engine, queries, given.repetitions)


def compare(engine: Engine, queries: list[str], repetitions: int) -> None:
    """Print what trends and searches take of an engine, and their ratios."""
    ways = {
        "six queries by year": lambda: trends(engine, queries, Question(), Period.YEAR),
        "six queries by month": lambda: trends(engine, queries, Question(), Period.MONTH),
        "six searches with a facet of years": lambda: [_facet(engine, one) for one in queries],
    }
    took = _in_turn(ways, repetitions)
    *_, (clock, _, _) = took.values()
    print(f"{'least of repetitions, ms':40} clock  processor  the server's  ratio of clock")
    for way, (ms, own_ms, served_ms) in took.items():
        print(f"{way:38} {ms:8.1f} {own_ms:10.1f} {served_ms:13.1f}  {ms / clock:14.2f}")
    slowest = max(
        own_ms + served_ms
        for way, (_, own_ms, served_ms) in took.items()
        if way.startswith("six queries")
    )
    print(f"goal of {_GOAL_MS:.0f} ms of processor: {'met' if slowest < _GOAL_MS else 'missed'}")


Took = tuple[float, float, float]


def _in_turn(ways: dict[str, Callable[[], object]], repetitions: int) -> dict[str, Took]:
    """Return the least milliseconds of each way: clock, processor, and that of the server."""
    rounds = [{way: _once(ask) for way, ask in ways.items()} for _ in range(repetitions + 1)]
    return {way: _least([one[way] for one in rounds[1:]]) for way in ways}


def _once(ask: Callable[[], object]) -> Took:
    clock, own, family = time.perf_counter(), time.process_time(), family_seconds(os.getpid())
    ask()
    worked = time.process_time() - own
    served = family_seconds(os.getpid()) - family - worked
    return 1000 * (time.perf_counter() - clock), 1000 * worked, 1000 * max(served, 0.0)


def _least(took: list[Took]) -> Took:
    clocks, own, served = zip(*took, strict=True)
    # The system counts the server's processor time in steps of 10 ms.
    return min(clocks), min(own), sum(served) / len(served)


def _facet(engine: Engine, query: str) -> object:
    question = Question(
        query, facets=("year",), facet_size=100, limit=0, snippets=False, collapse=Collapse.NONE
    )
    return engine.search(question).facets


if __name__ == "__main__":
    main()
