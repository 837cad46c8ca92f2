"""Executor steps that find duplicates: by run, by key, and by run again.

A run is a limited number of consecutive captures of a task: no process holds more at once,
however long a file is. `bests_of_task` reads the lines of a task and yields a row per key and
run, with the best capture there; `compared_bests` receives all rows of some keys and yields the
overall best for each run; `duplicates_of_task` reads the lines again and yields the captures
that are not the best. A key with very many captures thus takes one row per run, wherever its
captures are.

The rows store the words of the entries of `nwx.dedup.capture_filter` as signed numbers, as
Spark has no unsigned ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa

from nwx.bulk.arrays import KEY, Array, Entries
from nwx.bulk.process_limits import keep_memory
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import FileReading, ReadTask
from nwx.dedup.capture_filter import ID, KEY_REST, RANK, TIE, Passed, bests, key_entries
from nwx.dedup.key_hashes import KeyHash
from nwx.dedup.tasks import (
    TASK_SHIFT,
    DedupPlan,
    Savings,
    add_savings,
    list_lines,
    selected_columns,
)

_Batches = Iterator[pa.RecordBatch]

_LONG = pa.int64()
BEST_SCHEMA = pa.schema(
    [
        ("key", _LONG),
        ("rest", _LONG),
        ("id", _LONG),
        ("rank", _LONG),
        ("tie", _LONG),
        ("word", _LONG),
        ("captures", _LONG),
    ]
)
"""The best capture of a key in a run of a task, and how many captures the key has there."""

ANSWER_SCHEMA = pa.schema(
    [(name, _LONG) for name in ("task", "run", "key", "rest", "best", "word")]
)
"""To a run of a task, the best of a key. To the task COUNTED, `key` is how many were compared."""

COUNTED = -1

_RUN_CAPTURES = 1 << 20
_INDEX_BITS = np.uint64((1 << TASK_SHIFT) - 1)


@dataclass(slots=True)
class TaskFound:
    """Result of a task: counts of what was read, and its lines in a list."""

    readings: list[FileReading] = field(default_factory=list)
    passed: Passed = field(default_factory=Passed)
    lines: int = 0
    spared: int = 0
    savings: Savings = field(default_factory=Savings)


def bests_of_task(plan: DedupPlan, task: ReadTask, found: TaskFound) -> _Batches:
    """Yield the best capture per key and run (BEST_SCHEMA), and record what was read."""
    keep_memory()
    parts = (part for _, entries in _entries(plan, task, found) for part in _by_run(entries))
    for _, run in groupby(parts, key=itemgetter(0)):
        entries = np.concatenate([some for _, some in run])
        yield _best_rows(*bests(entries, plan.selection.ranks), plan)
    if task.held:
        found.passed = Passed()


def _entries(
    plan: DedupPlan, task: ReadTask, found: TaskFound
) -> Iterator[tuple[CdxColumns, Entries]]:
    """Yield the captures of a task block by block, with their entries."""
    keys = KeyHash(plan.selection.key, plan.seed)
    first = task.number << TASK_SHIFT
    for piece in task.pieces:
        for columns in selected_columns(piece, plan, found):
            if len(columns):
                entries = key_entries(columns, keys, plan.selection, first, task.held)
                first += len(columns)
                yield columns, entries
        if plan.strict and found.readings[-1].problems:
            return


def _by_run(entries: Entries) -> Iterator[tuple[int, Entries]]:
    """Yield the entries of each run that a block has some of, in order."""
    runs = _run_of(entries[:, ID])
    for begin, end in _stretches(runs):
        yield int(runs[begin]), entries[begin:end]


def _run_of(ids: Array) -> Array:
    return (ids & _INDEX_BITS) // np.uint64(_RUN_CAPTURES)


def _stretches(*columns: Array) -> Iterator[tuple[int, int]]:
    """Yield where the values of all columns stay the same."""
    size = len(columns[0])
    differs = np.zeros(max(0, size - 1), np.bool_)
    for column in columns:
        differs |= column[1:] != column[:-1]
    bounds = [0, *(np.flatnonzero(differs) + 1).tolist(), size]
    return pairwise(bounds) if size else iter(())


def _best_rows(best: Entries, counts: Array, plan: DedupPlan) -> pa.RecordBatch:
    tie = best[:, TIE] if plan.selection.ranks > 1 else np.zeros(len(best), np.uint64)
    words = [best[:, KEY], best[:, KEY_REST], best[:, ID], best[:, RANK], tie, best[:, -1]]
    columns = [_signed(word) for word in words]
    return pa.RecordBatch.from_arrays([*columns, pa.array(counts)], schema=BEST_SCHEMA)


def _signed(words: Array) -> pa.Array:
    return pa.array(np.ascontiguousarray(words).view(np.int64))


def _words(rows: pa.Table | pa.RecordBatch, name: str) -> Array:
    words: Array = rows.column(name).to_numpy(zero_copy_only=False).view(np.uint64)
    return words


def compared_bests(batches: Iterable[pa.RecordBatch]) -> _Batches:
    """Yield for each run the best capture of the keys it has a duplicate of.

    The batches (BEST_SCHEMA) hold all rows of some keys.
    """
    rows = pa.Table.from_batches(batches, BEST_SCHEMA)
    if not len(rows):
        return
    words = {name: _words(rows, name) for name in ("key", "rest", "id", "rank", "tie", "word")}
    order = np.lexsort([words[name] for name in ("id", "tie", "rank", "rest", "key")])
    words = {name: column[order] for name, column in words.items()}
    first = np.ones(len(order), np.bool_)
    key, rest = words["key"], words["rest"]
    first[1:] = (key[1:] != key[:-1]) | (rest[1:] != rest[:-1])
    best = np.flatnonzero(first)[np.cumsum(first) - 1]
    # captures that are held have rank 0, and are never duplicates
    several = (rows.column("captures").to_numpy()[order] > 1) | ~first
    told = np.flatnonzero(several & (words["rank"] > 0))
    columns = (
        words["id"][told] >> np.uint64(TASK_SHIFT),
        _run_of(words["id"][told]),
        key[told],
        rest[told],
        words["id"][best[told]],
        words["word"][best[told]],
    )
    yield pa.RecordBatch.from_arrays([_signed(each) for each in columns], schema=ANSWER_SCHEMA)
    counted = [COUNTED, 0, int(np.count_nonzero(first)), 0, 0, 0]
    yield pa.RecordBatch.from_arrays([pa.array([n]) for n in counted], schema=ANSWER_SCHEMA)


def answers_by_run(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, int, pa.Table]]:
    """Yield the answers (ANSWER_SCHEMA) by run: task, run and all rows.

    The batches must be ordered by task and run.
    """
    for (task, run), parts in groupby(_placed(batches), key=itemgetter(0)):
        yield task, run, pa.Table.from_batches([rows for _, rows in parts])


def _placed(
    batches: Iterable[pa.RecordBatch],
) -> Iterator[tuple[tuple[int, int], pa.RecordBatch]]:
    for batch in batches:
        tasks, runs = (batch.column(name).to_numpy() for name in ("task", "run"))
        for begin, end in _stretches(tasks, runs):
            yield (int(tasks[begin]), int(runs[begin])), batch[begin:end]


def duplicates_of_task(
    plan: DedupPlan, task: ReadTask, answers: Iterable[tuple[int, pa.Table]], found: TaskFound
) -> Iterator[bytes]:
    """Yield the list lines of a task in blocks, and count them.

    `answers` (ANSWER_SCHEMA) are for the runs of the task, in their order.
    """
    keep_memory()
    bests_told = _TaskAnswers(answers)
    for columns, entries in _entries(plan, task, found):
        told = [bests_told.of_run(run).find(some) for run, some in _by_run(entries)]
        known, best, word = (np.concatenate(each) for each in zip(*told, strict=True))
        others = known & (best != entries[:, ID])
        same = others & (word == entries[:, -1])
        columns.keep(others & ~same)
        found.spared += int(np.count_nonzero(same))
        found.lines += len(columns)
        if plan.summary:
            add_savings(found.savings, columns)
        if len(columns):
            yield list_lines(columns)


class _TaskAnswers:
    """Answers for the runs of a task, one held at a time."""

    def __init__(self, runs: Iterable[tuple[int, pa.Table]]) -> None:
        self._runs = iter(runs)
        self._run, self._answers = -1, _NO_ANSWERS

    def of_run(self, run: int) -> "_Answers":
        """Return the answers to a run; runs are asked for in order."""
        while self._run < run:
            self._run, rows = next(self._runs, (_NO_MORE, ANSWER_SCHEMA.empty_table()))
            self._answers = _Answers(rows)
        return self._answers if self._run == run else _NO_ANSWERS


class _Answers:
    """The best captures that a run received, by their keys."""

    def __init__(self, answers: pa.Table) -> None:
        names = ("key", "rest", "best", "word")
        key, rest, best, word = (_words(answers, name) for name in names)
        order = np.argsort(key)
        self._key, self._rest = key[order], rest[order]
        self._best, self._word = best[order], word[order]

    def find(self, entries: Entries) -> tuple[Array, Array, Array]:
        """Return which entries have an answered key, and the id and word of its best."""
        places = np.searchsorted(self._key, entries[:, KEY])
        known = np.zeros(len(entries), np.bool_)
        looked_at = np.flatnonzero(places < len(self._key))
        while len(looked_at):
            at = places[looked_at]
            looked_at = looked_at[self._key[at] == entries[looked_at, KEY]]
            found = self._rest[places[looked_at]] == entries[looked_at, KEY_REST]
            known[looked_at[found]] = True
            # different keys with the same first half follow one another
            looked_at = looked_at[~found]
            places[looked_at] += 1
            looked_at = looked_at[places[looked_at] < len(self._key)]
        best, word = np.zeros((2, len(entries)), np.uint64)
        best[known], word[known] = self._best[places[known]], self._word[places[known]]
        return known, best, word


_NO_ANSWERS = _Answers(ANSWER_SCHEMA.empty_table())
_NO_MORE = 1 << TASK_SHIFT
