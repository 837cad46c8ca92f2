"""Reviews of captures: made, and the queue of pages that wait for one."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.indices.quality_index import (
    MOST_NOTE,
    PlaybackScore,
    QualityFilter,
    Review,
    ReviewVerdict,
    review_index,
)
from nwx.errors import UsageError
from nwx.keys import id_of_capture
from nwx.model import Capture
from nwx.values.records import copied
from nwx.values.timestamps import date_bound, to_timestamp
from nwx.values.urlkeys import urlkey, with_scheme

__all__ = ["Review", "ReviewVerdict"]
_NEWEST = "99991231235959"
_MARK = re.compile(r"(?:\d{1,3}(?:\.\d{1,2})?,){3}\d{1,3}(?:\.\d{1,2})?", re.ASCII)
_MOST_REVIEWER = 200


def made_review(
    engine: Engine, capture: str, at: str, verdict: str, note: str, marked: str, reviewer: str
) -> Review:
    """Return a review of a capture by its id, or of the one of a URL nearest to a date."""
    check_review(verdict, marked)
    of: PlaybackScore | Capture | None = engine.quality_index().score(capture)
    if of is None:
        key, moment = urlkey(with_scheme(capture)), date_bound(at, 0) if at else _NEWEST
        (near,) = engine.captures_near([KeysAtTime((key,), moment)], 1)
        if not near:
            raise UsageError.translated("there is no capture of %(url)s", url=capture[:200])
        of = near[0]
    return copied(
        Review,
        of,
        capture=of.id if isinstance(of, PlaybackScore) else id_of_capture(of),
        reviewer=reviewer.strip()[:_MOST_REVIEWER],
        verdict=verdict,
        reviewed=to_timestamp(datetime.now(UTC)),
        note=note.strip()[:MOST_NOTE],
        marked=marked,
    )


def check_review(verdict: str, marked: str = "") -> None:
    """Raise UsageError unless a verdict is one, and a mark four numbers up to 100."""
    if verdict not in list(ReviewVerdict):
        raise UsageError.translated(
            "%(verdict)s is no verdict; write good, usable or bad", verdict=repr(verdict[:40])
        )
    if marked and not _MARK.fullmatch(marked):
        raise UsageError.translated("a mark is left, top, width and height in percent: 10,20,30,40")


def review_queue(engine: Engine, reviewer: str, collection: str = "") -> Iterator[PlaybackScore]:
    """Stream the checked pages that a reviewer has not judged, the lowest score first."""
    done = {one.capture for one in review_index(engine).reviews(reviewer=reviewer)}
    scores = engine.quality_index().scan(QualityFilter(collection=collection))
    waiting = (one for one in scores if one.id not in done)
    return review_index(engine).judged(waiting)
