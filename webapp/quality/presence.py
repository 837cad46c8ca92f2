"""Whether the archive has playback scores, and that of a document, for other pages to link to."""

import threading
import time
from itertools import islice

from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import (
    EVERY_SCORE,
    PlaybackScore,
    QualityFilter,
    QualityOrder,
)
from nwx.errors import EngineError
from nwx.keys import capture_id, holds
from nwx.model import Document
from webapp.site.context import engine, kept_of_engine

_SECONDS = 20.0
_MOST_CAPTURES = 1_000


class ScorePresence:
    """Looks now and then, until there are scores."""

    def __init__(self, archive: Engine) -> None:
        self._archive = archive
        self._lock = threading.Lock()
        self._found = False
        self._looked = 0.0

    def found(self) -> bool:
        """Return whether there are scores, as far as is known; an engine that is away has none."""
        with self._lock:
            now = time.monotonic()
            if self._found or (self._looked and now - self._looked < _SECONDS):
                return self._found
            self._looked = now
        try:
            self._found = bool(self._archive.quality_index().scores(EVERY_SCORE, 1))
        except EngineError:
            return False
        return self._found


def has_playback_scores() -> bool:
    """Tell whether the archive has playback scores that whoever asks may see."""
    try:
        return kept_of_engine(ScorePresence).found()
    except EngineError:
        return False  # the page of an error is made with this too


def checks_stamp(archive: Engine, collection: str = "") -> str:
    """Return a text that is another one after checks: of all pages, or of a collection."""
    wanted, index = QualityFilter(collection=collection), archive.quality_index()
    last = [(one.id, one.checked) for one in index.scores(wanted, 1, order=QualityOrder.NEWEST)]
    # Many are checked in the same second, of which the last by id may stay the same.
    totals = index.totals(wanted) if last else None
    return repr((last, totals))


def playback_score(document: Document, document_id: str) -> PlaybackScore | None:
    """Return the score of a document: of its captures that were checked, the latest one's."""
    if not has_playback_scores():
        return None
    archive = engine()
    captures = islice(archive.captures(document.capture.urlkey), _MOST_CAPTURES)
    ids = [
        capture_id(one.collection, one.source_file, one.source_file_offset)
        for one in captures
        if holds(one, document_id)
    ]
    found = archive.quality_index().scores_of(ids).values()
    return max(found, key=lambda one: (one.timestamp, one.id), default=None)
