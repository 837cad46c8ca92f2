"""Whether the index quality of an archive agrees with itself and with the captures."""

from collections.abc import Iterator

from nwx.engine.base import Engine
from nwx.keys import capture_id
from nwx.model import IndexName

ScoreProblem = tuple[str, str, str]
"""One word for the cause, the id of an entry, and what is wrong."""


def check_scores(engine: Engine) -> Iterator[ScoreProblem]:
    """Yield what is wrong with the index quality, nothing where there is none.

    The captures that scores are about are there, and scores can be found as
    they are counted.
    """
    read = 0
    for entry in engine.scan(IndexName.QUALITY):
        read += 1
        if not _has_capture(engine, entry["id"], entry.get("urlkey", "")):
            yield "uncaptured", entry["id"], "the capture that it is about is missing"
    counted, found = engine.count(IndexName.QUALITY), engine.quality_index().totals().pages
    if not read == counted == found:
        yield "count", "*", f"{read} entries, {counted} counted, {found} in totals"


def _has_capture(engine: Engine, id: str, urlkey: str) -> bool:
    return any(
        capture_id(one.collection, one.source_file, one.source_file_offset) == id
        for one in engine.captures(urlkey)
    )
