"""How long six queries over time take, beside six searches with a facet of years.

    python -m benchmarks.trends [--documents 100000] [--repetitions 9]
                                [--archive FOLDER] [--elastic]

Six queries of one to three words are compared by year and by month, as
`/trends` does: seven questions, as the whole archive is counted too. The peer
is what one would ask without it: a search with a facet of years for each of
the six, without snippets. Both are asked in turn; the least of the
repetitions counts, in milliseconds of the clock and of processor. With
`--elastic` also of a server of its own, where the processor time is that of
this process only.
"""

import argparse
import random
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from benchmarks.corpus import Words
from benchmarks.pictures import least
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
    given = options.parse_args()
    words = Words(50_000, random.Random(7))
    source = random.Random(11)
    queries = [" ".join(words.draw(1 + number % 3, source)) for number in range(MOST_QUERIES)]
    with ExitStack() as stack:
        folder = given.archive or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        embedded = stack.enter_context(archive(folder, words, given.documents))
        compare("embedded", embedded, queries, given.repetitions)
        if given.elastic:
            server = stack.enter_context(node())
            elastic = stack.enter_context(ElasticEngine(server, ServerSettings()))
            fill(elastic, words, given.documents)
            compare("Elasticsearch", elastic, queries, given.repetitions)


def compare(name: str, engine: Engine, queries: list[str], repetitions: int) -> None:
    """Print what trends and searches take of an engine, and their ratios."""
    ways = {
        "six queries by year": lambda: trends(engine, queries, Question(), Period.YEAR),
        "six queries by month": lambda: trends(engine, queries, Question(), Period.MONTH),
        "six searches with a facet of years": lambda: [_facet(engine, one) for one in queries],
    }
    took = _in_turn(ways, repetitions)
    *_, (clock, processor) = took.values()
    print(f"{name}: {'least of repetitions, ms':38} clock  processor  ratio to searches")
    for way, (ms, processor_ms) in took.items():
        ratio = f"{ms / clock:.2f} ({processor_ms / processor:.2f} of processor)"
        print(f"{way:40} {ms:14.1f} {processor_ms:10.1f}  {ratio}")
    slowest = max(ms for way, (ms, _) in took.items() if way.startswith("six queries"))
    print(f"goal of {_GOAL_MS:.0f} ms: {'met' if slowest < _GOAL_MS else 'missed'}")


def _in_turn(
    ways: dict[str, Callable[[], object]], repetitions: int
) -> dict[str, tuple[float, float]]:
    """Return the least milliseconds of each way, of clock and processor."""
    rounds = [{way: least(ask, 1) for way, ask in ways.items()} for _ in range(repetitions + 1)]
    warm = rounds[1:]
    return {
        way: (min(one[way][0] for one in warm), min(one[way][1] for one in warm)) for way in ways
    }


def _facet(engine: Engine, query: str) -> object:
    question = Question(
        query, facets=("year",), facet_size=100, limit=0, snippets=False, collapse=Collapse.NONE
    )
    return engine.search(question).facets


if __name__ == "__main__":
    main()
