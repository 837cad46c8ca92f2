"""Facet answers compared with DuckDB's count(distinct) on Parquet files of the same captures.

Makes random captures, loads them into an archive and builds its facets;
DuckDB gets Parquet files with the criteria as columns, one folder per month.
Then both answer the same random questions, a mix of large and small
selections, spans, unions and lists, and must agree. Stored combinations are
measured separately. All times are medians and 95th percentiles in
milliseconds, of one question after the other.

    python -m benchmarks.facets_questions --captures 10000000

`--elastic` also measures an Elasticsearch, which is started for it, with
--elastic-captures: before and after facets are built. `--combinations 1000`
recounts that many combinations in plain Python.
"""

import argparse
import os
import random
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.facets_data import read_captures, write_captures
from benchmarks.facets_drawing import KINDS, Drawing, values_of
from benchmarks.facets_duckdb import COUNTED_FEATURES, Peer
from nwx.engine.base import Engine, open_engine
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.question import AnsweredBy, FacetAnswer, FacetCondition, FacetQuestion
from nwx.settings import ServerSettings, Settings
from tests.elasticsearch.server import node

SAMPLE = 20_000
WARM_UP = 20

Ask = Callable[[FacetQuestion], Any]
Asked = tuple[str, FacetQuestion]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captures", type=int, default=1_000_000)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--memory", default="4GB", help="DuckDB's limit")
    parser.add_argument("--elastic", action="store_true")
    parser.add_argument("--elastic-captures", type=int, default=300_000)
    parser.add_argument("--combinations", type=int, default=0)
    parser.add_argument("--tmp", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.tmp) as name:
        folder = Path(name)
        os.environ["NWX_CACHE"] = str(folder / "cache")
        embedded = Settings(str(folder / "archive"))
        compare(folder / "embedded", embedded, given.captures, given)
        if given.elastic:
            with node() as address:
                settings = ServerSettings(prefix="bench", cache=str(folder / "cache"))
                elastic = Settings(address, settings)
                compare(folder / "elastic", elastic, given.elastic_captures, given)


def compare(folder: Path, settings: Settings, captures: int, given: argparse.Namespace) -> None:
    """Compare one engine with DuckDB on the same captures."""
    folder.mkdir()
    export = folder / "export"
    write_captures(export, captures)
    rows = sample(export)
    drawing = Drawing(rows, 1)
    asked = [
        (kind, drawing.question(kind))
        for number in range(given.questions)
        for kind in [KINDS[number % len(KINDS)]]
    ]
    with loaded(settings, export) as engine, closing_peer(export, folder, given.memory) as peer:
        print(f"{folder.name}, {captures:,} captures, {len(asked)} questions, ms")
        if given.elastic and folder.name == "elastic":
            unbuilt = [one for one in asked if one[0] == "small"]
            show("not built, small", timed(FacetAnswers(engine).answer, unbuilt))
        began = time.monotonic()
        report = build_archive_facets(engine, FacetBuildOptions())
        print(f"built in {time.monotonic() - began:.1f} s, {report.bytes / 1e6:,.0f} MB")
        ask(engine, peer, asked)
        ask_stored(engine, drawing, given.questions)
        if given.combinations:
            recount(engine, export, drawing, given.combinations)


def sample(export: Path) -> list[dict[str, Any]]:
    """Return random rows of all months."""
    files = sorted(export.rglob("*.parquet"))
    each = SAMPLE // len(files) + 1
    frames = (pl.read_parquet(path) for path in files)
    return [
        row
        for number, frame in enumerate(frames)
        for row in frame.sample(min(each, len(frame)), seed=number).iter_rows(named=True)
    ]


@contextmanager
def loaded(settings: Settings, export: Path) -> Iterator[Engine]:
    """Yield an archive with the captures."""
    began = time.monotonic()
    with open_engine(settings) as engine:
        engine.create()
    with open_engine(settings) as engine:
        number = engine.load_captures(read_captures(export))
        engine.refresh()
    print(f"loaded {number:,} captures in {time.monotonic() - began:.0f} s")
    with open_engine(settings, read_only=True) as engine:
        yield engine


@contextmanager
def closing_peer(export: Path, folder: Path, memory: str) -> Iterator[Peer]:
    """Yield DuckDB with the captures."""
    peer = Peer(export, folder, memory)
    try:
        yield peer
    finally:
        peer.close()


def ask(engine: Engine, peer: Peer, asked: Sequence[Asked]) -> None:
    """Ask both all questions, and print the times of each kind and their ratios."""
    facets = FacetAnswers(engine)
    ours, theirs = timed(facets.answer, asked), timed(peer.answer, asked)
    different = sum(not agree(own[2], other[2]) for own, other in zip(ours, theirs, strict=True))
    plain = tuple(kind for kind in KINDS if kind != "list")
    for name, kinds in [*((kind, (kind,)) for kind in KINDS), ("no lists", plain), ("all", KINDS)]:
        show(f"nwx, {name}", [one for one in ours if one[0] in kinds])
        show(f"duckdb, {name}", [one for one in theirs if one[0] in kinds])
    whole = sum(one[1] for one in theirs) / sum(one[1] for one in ours)
    single = statistics.median(other[1] / own[1] for own, other in zip(ours, theirs, strict=True))
    print(f"nwx is {whole:.1f} times as fast over all, {single:.1f} times in the median")
    print(f"{different} answers are NOT the same" if different else "all answers are the same")


def timed(answer: Ask, asked: Sequence[Asked]) -> list[tuple[str, float, Any]]:
    """Return the kind, the milliseconds and the answer of each question."""
    for _, question in asked[:WARM_UP]:
        answer(question)
    found = []
    for kind, question in asked:
        began = time.perf_counter()
        answered = answer(question)
        found.append((kind, (time.perf_counter() - began) * 1000, answered))
    return found


def agree(answer: FacetAnswer, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Return whether an answer of nwx has the numbers of DuckDB's rows.

    The last rows of a list may be any of several with the same number of captures.
    """
    if not answer.question.by:
        return features(answer.total) == rows[0]
    own = {row.values: features(row.features) for row in answer.rows}
    size = len(answer.question.by)
    other = {row[:size]: row[size:] for row in rows}
    last = min((found[0] for found in other.values()), default=0)
    return len(own) == len(other) and all(
        other.get(values) == found if found[0] > last else found[0] == last
        for values, found in own.items()
    )


def features(found: Any) -> tuple[int, ...]:
    """Return the features that are also counted with DuckDB."""
    return tuple(getattr(found, name) for name in COUNTED_FEATURES)


def show(name: str, found: Sequence[tuple[str, float, Any]]) -> None:
    """Print the median and the 95th percentile of times."""
    if found:
        times = sorted(one[1] for one in found)
        late = times[min(len(times) - 1, len(times) * 95 // 100)]
        print(f"{name:28} median {statistics.median(times):9.2f}   95 % {late:9.2f}", flush=True)


def ask_stored(engine: Engine, drawing: Drawing, number: int) -> None:
    """Ask for random combinations, and print the times of stored ones."""
    asked = [("stored", FacetQuestion(drawing.combination())) for _ in range(number)]
    found = timed(FacetAnswers(engine).answer, asked)
    stored = [one for one in found if one[2].answered_by is AnsweredBy.STORED]
    print(f"{len(stored)} of {number} combinations by chance are stored")
    show("stored combinations", stored)
    show("others", [one for one in found if one[2].answered_by is not AnsweredBy.STORED])


def recount(engine: Engine, export: Path, drawing: Drawing, number: int) -> None:
    """Recount random combinations in plain Python, and compare."""
    drawn = {drawing.combination() for _ in range(number * 3)}
    wanted = random.Random(1).sample(sorted(drawn, key=str), min(number, len(drawn)))
    counted = count_plainly(export, wanted)
    facets = FacetAnswers(engine)
    wrong = 0
    for where in wanted:
        found = facets.answer(FacetQuestion(where)).total
        wrong += (*features(found), found.unique_bytes) != counted[where]
    print(f"{len(wanted):,} combinations counted in plain Python: {wrong or 'none'} differ")


Where = tuple[FacetCondition, ...]


class Tally:
    """The counts of a combination."""

    def __init__(self) -> None:
        self.captures = self.bytes = 0
        self.urls: set[str] = set()
        self.documents: dict[str, int] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Count a capture."""
        self.captures += 1
        self.bytes += row["content_length"]
        self.urls.add(row["url"])
        self.documents[row["content_digest"]] = row["content_length"]

    @property
    def features(self) -> tuple[int, ...]:
        """The features, the bytes of unique documents last."""
        unique_bytes = sum(self.documents.values())
        return self.captures, len(self.documents), len(self.urls), self.bytes, unique_bytes


def count_plainly(export: Path, wanted: Sequence[Where]) -> dict[Where, tuple[int, ...]]:
    """Return the features of combinations, counted in one pass over the captures."""
    tallies: dict[tuple[Criterion, ...], dict[tuple[str, ...], Tally]] = defaultdict(dict)
    for where in wanted:
        names, values = key_of(where)
        tallies[names][values] = Tally()
    for path in export.rglob("*.parquet"):
        for row in pl.read_parquet(path).iter_rows(named=True):
            known = values_of(row)
            for names, found in tallies.items():
                tally = found.get(tuple([known[name] for name in names]))
                if tally is not None:
                    tally.add(row)
    return {
        where: tallies[names][values].features
        for where in wanted
        for names, values in [key_of(where)]
    }


def key_of(where: Where) -> tuple[tuple[Criterion, ...], tuple[str, ...]]:
    """Return the criteria of a combination in a fixed order, and its values."""
    found = {condition.criterion: condition.values[0] for condition in where}
    names = tuple(name for name in (Criterion.STATUS, *CUBE) if name in found)
    return names, tuple(found[name] for name in names)


if __name__ == "__main__":
    main()
