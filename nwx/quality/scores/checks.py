"""Whether the index quality of an archive agrees with itself and with the captures."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from nwx.engine.base import Engine
from nwx.model import IndexName
from nwx.quality.scores.scored_captures import CaptureMark, marked_captures

ScoreProblem = tuple[str, str, str]
"""One word for the cause, the id of an entry, and what is wrong."""

_AT_ONCE = 1_000


def check_scores(engine: Engine) -> Iterator[ScoreProblem]:
    """Yield what is wrong with the index quality, nothing where there is none.

    The captures that scores are about are there, and scores can be found as
    they are counted.
    """
    read = 0
    marks = _marks(engine.scan(IndexName.QUALITY))
    while batch := list(islice(marks, _AT_ONCE)):
        read += len(batch)
        there = marked_captures(engine, batch)
        for mark in batch:
            if mark.id not in there:
                yield "uncaptured", mark.id, "the capture that it is about is missing"
    counted, found = engine.count(IndexName.QUALITY), engine.quality_index().totals().pages
    if not read == counted == found:
        yield "count", "*", f"{read} entries, {counted} counted, {found} in totals"


def _marks(entries: Iterable[Mapping[str, Any]]) -> Iterator[CaptureMark]:
    for entry in entries:
        yield CaptureMark(entry["id"], entry.get("urlkey", ""), entry.get("timestamp", ""))
