"""The cost of access rules: the same questions with 10,000 rules and without any.

    python -m benchmarks.access [--documents 30000] [--rules 10000] [--queries 100]
                                [--archive FOLDER] [--engine elastic]

Writes an archive of generated documents, by default an embedded one, then
rules: half of them for exact URLs, the others for prefixes, hosts and digests;
one in ten of these matches something in the archive. Runs searches with
facets, CDX look-ups and document look-ups alternately on the archive as
everybody sees it and on the whole one; the least processor time of each
question's repetitions counts. Checks that results differ by hidden captures only.

On Elasticsearch, only searches run, by score and by date, with these rules and
with an embargo on all captures; processor time is the sum of client and
server, and each round of all questions counts once.
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks.corpus import Words
from benchmarks.process_family import family_seconds
from benchmarks.searching import FACETS, archive, draw, fill
from nwx.access.restricted_engine import restricted_to
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxLineForm, KeysAtTime, exactly
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.server_engines import ElasticEngine
from nwx.facets.answers import FacetAnswers
from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetQuestion
from nwx.model import Capture, Collapse, Sort
from nwx.query.question import Question
from nwx.settings import ServerSettings
from tests.elasticsearch.server import node

REPETITIONS = 7
_FORM = CdxLineForm((0, 1, 2, 3, 4, 5), bare_digests=False)
_SPREAD = 10
_EMBARGO_YEARS = 12
_SETTINGS = ServerSettings()


def main() -> None:
    """Run the comparison and print its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=30_000)
    options.add_argument("--rules", type=int, default=10_000)
    options.add_argument("--queries", type=int, default=100)
    options.add_argument("--archive", type=Path, metavar="FOLDER")
    options.add_argument("--engine", choices=("embedded", "elastic"), default="embedded")
    given = options.parse_args()
    words = Words(50_000, random.Random(7))
    with ExitStack() as stack:
        if given.engine == "elastic":
            server = stack.enter_context(ElasticEngine(stack.enter_context(node()), _SETTINGS))
            fill(server, words, given.documents)
            compare_searches(server, draw(words, given.queries), given.rules)
            return
        folder = given.archive or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        archive(folder, words, given.documents).close()
        engine = stack.enter_context(EmbeddedEngine(folder / str(given.documents)))
        captures = [one for one, _ in engine.captures_since("")]
        put_rules(engine, captures, given.rules)
        shown = first_search(engine)
        compare(engine, shown, draw(words, given.queries), captures)


def put_rules(engine: Engine, captures: Sequence[Capture], number: int) -> None:
    """Add the rules to the archive."""
    index = engine.access_index()
    index.remove([rule.id for rule in index.rules().rules], "benchmark")
    source = random.Random(3)
    chosen = source.sample(captures, min(len(captures), number // _SPREAD))
    rules = [AccessRule("", Action.EXCLUDE, _scope(one, n)) for n, one in enumerate(chosen)]
    rules += [AccessRule("", Action.EXCLUDE, _elsewhere(n)) for n in range(number - len(rules))]
    clock = time.perf_counter()
    index.put(rules, "benchmark")
    print(f"{len(rules)} rules stored in {time.perf_counter() - clock:.2f} s")


def _scope(capture: Capture, number: int) -> Scope:
    if number % 10 == 9:
        return Scope(digest=capture.digest)
    if number % 10 >= 5:
        return Scope(prefix=capture.urlkey.rpartition("/")[0] + "/")
    return Scope(prefix=capture.urlkey, is_exact=True)


def _elsewhere(number: int) -> Scope:
    if number % 10 == 9:
        return Scope(digest="sha1:" + f"{number:032X}".translate(str.maketrans("0189", "WXYZ")))
    if number % 10 >= 5:
        return Scope(prefix=f"org,elsewhere{number})/")
    return Scope(prefix=f"org,elsewhere{number})/page", is_exact=True)


def first_search(engine: Engine) -> Engine:
    """Return the archive as everybody sees it, and print the time of the first search."""
    everything = Question(limit=0, collapse=Collapse.NONE, snippets=False)
    for name in ("first search after a change of rules", "first search of the next process"):
        shown = restricted_to(engine, EVERYBODY)
        clock, processor = time.perf_counter(), time.process_time()
        found = shown.search(everything).documents.value
        print(
            f"{name}: {time.perf_counter() - clock:.2f} s, "
            f"{time.process_time() - processor:.2f} s of processor; {found} documents are shown"
        )
    return shown


def compare(
    engine: Engine, shown: Engine, questions: Sequence[Question], captures: Sequence[Capture]
) -> None:
    """Print the times of questions to the whole and the restricted archive."""
    print(f"{'':24}{'whole, ms':>12}{'shown, ms':>12}{'ratio':>8}   (processor, mean of the least)")
    source = random.Random(5)
    keys = [one.urlkey for one in source.sample(captures, 300)]
    near = [KeysAtTime((key,), "2015") for key in keys]
    ids = [one.document_id for one in source.sample(captures, 300)]
    asked: list[tuple[str, Callable[[Engine, int], object], int]] = [
        ("search with facets", lambda one, n: one.search(questions[n]), len(questions)),
        ("all documents", lambda one, n: one.search(Question(facets=FACETS)), 10),
        ("captures of a URL", lambda one, n: list(one.captures(keys[n])), len(keys)),
        ("CDX lines of a URL", lambda one, n: _lines(one, keys[n]), len(keys)),
        ("a document", lambda one, n: one.documents([ids[n]]), len(ids)),
        ("statuses of 300 URLs", lambda one, _: one.statuses(keys), 1),
        ("captures near, 300 URLs", lambda one, _: one.captures_near(near, 3), 1),
    ]
    asked += [
        ("explorer, by type", _facets((Criterion.TYPE,)), 1),
        ("explorer, by site", _facets((Criterion.SITE,)), 1),
    ]
    for name, ask, number in asked:
        whole, part = least_times(ask, (engine, shown), number)
        print(f"{name:24}{whole:12.3f}{part:12.3f}{part / whole:8.2f}")
    for question in questions:
        less = engine.search(question).documents.value - shown.search(question).documents.value
        if less < 0:
            raise SystemExit(f"more is shown than there is: {question.text}")


def compare_searches(engine: Engine, questions: Sequence[Question], rules: int) -> None:
    """Print the times of searches on a server in the whole and the restricted archive."""
    captures = [one for one, _ in engine.captures_since("")]
    newest = [replace(one, sort=Sort.NEWEST) for one in questions]
    put_rules(engine, captures, rules)
    _print_rounds(f"{rules} rules, by score", engine, questions)
    _print_rounds(f"{rules} rules, newest first", engine, newest)
    index = engine.access_index()
    index.remove([rule.id for rule in index.rules().rules], "benchmark")
    index.put([AccessRule("", Action.EMBARGO, Scope(), years=_EMBARGO_YEARS)], "benchmark")
    _print_rounds("embargo, by score", engine, questions)
    _print_rounds("embargo, newest first", engine, newest)


def _print_rounds(name: str, engine: Engine, questions: Sequence[Question]) -> None:
    """Print the least processor milliseconds per question, over rounds of all questions."""
    least = {engine: float("inf"), restricted_to(engine, EVERYBODY): float("inf")}
    for number in range(REPETITIONS + 1):
        for one in least:
            began = family_seconds(os.getpid())
            for question in questions:
                one.search(question)
            took = (family_seconds(os.getpid()) - began) / len(questions) * 1000
            if number:  # the first round fills caches
                least[one] = min(least[one], took)
    whole, shown = least.values()
    print(f"{name:28}{whole:10.2f}{shown:12.2f}{shown / whole:8.2f}", flush=True)


def _facets(by: tuple[Criterion, ...]) -> Callable[[Engine, int], object]:
    """Return a function that answers a facet question from columns that are read only once."""
    known: dict[Engine, FacetAnswers] = {}

    def ask(engine: Engine, _: int) -> object:
        answers = known.setdefault(engine, FacetAnswers(engine))
        return answers.answer(FacetQuestion(by=by, limit=10))

    return ask


def _lines(engine: Engine, key: str) -> object:
    blocks = engine.cdx_blocks(exactly(key), _FORM)
    return list(blocks if blocks is not None else engine.cdx_rows(exactly(key)))


def least_times(
    ask: Callable[[Engine, int], object], engines: Sequence[Engine], number: int
) -> list[float]:
    """Return for each engine the mean of the least milliseconds of each question."""
    least = [[float("inf")] * number for _ in engines]
    for _ in range(REPETITIONS):
        for place in range(number):
            for which, engine in enumerate(engines):
                began = time.process_time()
                ask(engine, place)
                took = (time.process_time() - began) * 1000
                least[which][place] = min(least[which][place], took)
    return [sum(times) / number for times in least]


if __name__ == "__main__":
    main()
