"""Times of lists and totals of playback scores, compared with scans of the same rows.

    python -m benchmarks.quality_lists [--scores 100000] [--repetitions 5]

Generated scores are put into an embedded archive, into a plain SQLite table
without indexes that is scanned for each question and, if DuckDB is installed,
into its columns. Each question is asked of all alternately; the answers must
be the same. Prints milliseconds by clock and of processor, the least of the
repetitions. A page of the list is the totals and 25 scores.
"""

import argparse
import csv
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.quality_index import Fault, PlaybackScore, QualityFilter, QualityIndex

_KINDS = ("missing", "failed", "leak", "console", "far")
_AT_ONCE = 5_000
_A_PAGE = 25
_TABLE = """CREATE TABLE scores (id TEXT, score REAL, collection TEXT, host TEXT, domain TEXT,
month TEXT, kinds TEXT, content TEXT)"""
_FIELDS = ("collection", "host", "domain", "month")
QUESTIONS = {
    "all": (QualityFilter(), 0),
    "all, page 2,000": (QualityFilter(), 2_000 * _A_PAGE),
    "a host": (QualityFilter(host="www.site7.example"), 0),
    "a month": (QualityFilter(month="201207"), 0),
    "a kind of fault": (QualityFilter(kind="leak"), 0),
    "host, month and kind": (QualityFilter("", "www.site7.example", "", "201207", "far"), 0),
    "collection and kind": (QualityFilter("crawl-1", kind="missing"), 0),
}


def main() -> None:
    """Fill the stores, run all queries, print a table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--scores", type=int, default=100_000)
    options.add_argument("--repetitions", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name, EmbeddedEngine(Path(name) / "a") as engine:
        began, work = time.perf_counter(), time.process_time()
        index = engine.quality_index()
        for first in range(0, given.scores, _AT_ONCE):
            index.put([made(n) for n in range(first, min(first + _AT_ONCE, given.scores))])
        took = time.perf_counter() - began, time.process_time() - work
        print(f"{given.scores:,} scores put in {took[0]:.1f} s, {took[1]:.1f} s of processor")
        with closing(plain_table(Path(name) / "plain.db", given.scores)) as db:
            compare(index, db, given.repetitions)


def made(number: int) -> PlaybackScore:
    """Return a score by its number."""
    site = number * 7_919 % 1_000 % (1 + number % 997)
    timestamp = f"{2010 + number % 5}{1 + number // 5 % 12:02}01000000"
    url = f"http://www.site{site}.example/{number}"
    faults = tuple(Fault(_KINDS[n % 5], f"{url}/{n}.js", 404, "") for n in range(number * 31 % 7))
    return PlaybackScore(
        id=f"crawl-{number % 3}/{number // 1_000:05}.warc.gz@{number * 3_001}",
        collection=f"crawl-{number % 3}",
        url=url,
        urlkey=f"example,site{site})/{number}",
        host=f"www.site{site}.example",
        domain=f"site{site}.example",
        timestamp=timestamp,
        checked="20260101000000",
        rules="1",
        score=number * 104_729 % 10_007 / 10_006,
        screenshot=0.5,
        text=0.75,
        faults=faults,
        faults_total=len(faults),
        resources=tuple(f"example,site{site})/{number}/{n}.js" for n in range(len(faults))),
    )


def plain_table(path: Path, count: int) -> sqlite3.Connection:
    """Return a database with the same scores in one table."""
    db = sqlite3.connect(path)
    db.execute(_TABLE)
    rows = (_row(made(number)) for number in range(count))
    db.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.commit()
    return db


def _row(score: PlaybackScore) -> tuple[object, ...]:
    kinds = " ".join(sorted({fault.kind for fault in score.faults}))
    fields = (getattr(score, name) for name in ("collection", "host", "domain"))
    return score.id, score.score, *fields, score.timestamp[:6], f" {kinds} ", repr(score)


def compare(index: QualityIndex, db: sqlite3.Connection, repetitions: int) -> None:
    """Ask each question of all alternately, and print the least times."""
    stores: dict[str, Callable[[QualityFilter, int], object]] = {
        "nwx, first time": lambda wanted, offset: indexed(index, wanted, offset, anew=True),
        "nwx, again": lambda wanted, offset: indexed(index, wanted, offset),
        "plain scan": lambda wanted, offset: scanned(db.execute, wanted, offset),
    }
    columns = duck_columns(db)
    if columns is not None:
        stores["DuckDB"] = lambda wanted, offset: scanned(columns.execute, wanted, offset)
    print("question | " + " | ".join(f"{name}: clock, processor (ms)" for name in stores))
    for question, (wanted, offset) in QUESTIONS.items():
        best: dict[str, tuple[float, float]] = {}
        for _ in range(repetitions):
            answers = []
            for name, ask in stores.items():
                began, work = time.perf_counter(), time.process_time()
                answers.append(ask(wanted, offset))
                took = time.perf_counter() - began, time.process_time() - work
                best[name] = min(best.get(name, took), took)
            if any(answer != answers[0] for answer in answers):
                raise SystemExit(f"the answers to {question!r} differ")
        times = (f"{clock * 1e3:.1f}, {work * 1e3:.1f}" for clock, work in best.values())
        print(f"{question} | " + " | ".join(times), flush=True)


def indexed(
    index: QualityIndex, wanted: QualityFilter, offset: int, *, anew: bool = False
) -> object:
    """Return a page of the list from an archive; with `anew`, as after a change of scores."""
    if anew:
        index.remove(["nobody"])
    totals = index.totals(wanted)
    groups = (totals.kinds, totals.months, totals.hosts, totals.collections)
    counted = [sorted((one.value, one.pages) for one in group) for group in groups]
    return totals.pages, *counted, [one.id for one in index.scores(wanted, _A_PAGE, offset)]


def scanned(execute: Callable[..., Any], wanted: QualityFilter, offset: int) -> object:
    """Return the same page by scanning a table."""
    named = {name: getattr(wanted, name) for name in _FIELDS if getattr(wanted, name)}
    conditions = [f"{name} = ?" for name in named]
    values: list[object] = list(named.values())
    if wanted.kind:
        conditions.append("kinds LIKE ?")
        values.append(f"% {wanted.kind} %")
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    ((pages, _),) = execute(f"SELECT count(*), avg(score) FROM scores {where}", values).fetchall()
    return (
        pages,
        list(_kinds(execute, where, values)),
        _grouped(execute, "month", where, values, ""),
        _grouped(execute, "host", where, values, "ORDER BY count(*) DESC, host LIMIT 100"),
        _grouped(execute, "collection", where, values, ""),
        [
            row[0]
            for row in execute(
                f"SELECT id, content FROM scores {where} ORDER BY score, id"
                f" LIMIT {_A_PAGE} OFFSET {offset}",
                values,
            ).fetchall()
        ],
    )


def _grouped(
    execute: Callable[..., Any], name: str, where: str, values: list[object], order: str
) -> list[tuple[str, int]]:
    command = f"SELECT {name}, count(*), avg(score) FROM scores {where} GROUP BY {name} {order}"
    return sorted((value, count) for value, count, _ in execute(command, values).fetchall())


def _kinds(
    execute: Callable[..., Any], where: str, values: list[object]
) -> Iterator[tuple[str, int]]:
    for kind in sorted(_KINDS):
        more = f"{where} {'AND' if where else 'WHERE'} kinds LIKE ?"
        command = f"SELECT count(*), avg(score) FROM scores {more}"
        ((count, _),) = execute(command, [*values, f"% {kind} %"]).fetchall()
        if count:
            yield kind, count


def duck_columns(db: sqlite3.Connection) -> Any:
    """Return the same table in DuckDB, None if it is not installed."""
    try:
        import duckdb
    except ImportError:
        return None
    columns = duckdb.connect(config={"threads": 1})
    columns.execute(_TABLE)
    with tempfile.NamedTemporaryFile("w", suffix=".csv", encoding="utf-8") as file:
        csv.writer(file).writerows(db.execute("SELECT * FROM scores"))
        file.flush()
        columns.execute("COPY scores FROM ? (FORMAT csv, HEADER false)", [file.name])
    return columns


if __name__ == "__main__":
    main()
