"""Pages whose missing resources have been captured since they were checked."""

from collections.abc import Iterator

from nwx.engine.base import Engine
from nwx.engine.quality.quality_index import PlaybackScore, QualityFilter
from nwx.keys import capture_id
from nwx.model import Capture
from nwx.quality.measures.resource_counts import FIRST_BAD
from nwx.values.fault_kinds import FaultKind

_BATCH_KEYS = 1_000


def repaired_pages(engine: Engine, collection: str = "") -> set[str]:
    """Return the ids of checked captures of which the archive has a missing resource now."""
    return {score.id for score in _repaired(engine, collection)}


def repaired_captures(engine: Engine) -> list[Capture]:
    """Return those captures themselves."""
    scores = list(_repaired(engine, ""))
    ids = {score.id for score in scores}
    keys = sorted({score.urlkey for score in scores})
    found = (capture for key in keys for capture in engine.captures(key))
    return [
        capture
        for capture in found
        if capture_id(capture.collection, capture.source_file, capture.source_file_offset) in ids
    ]


def _repaired(engine: Engine, collection: str) -> Iterator[PlaybackScore]:
    for batch in _batches(engine, collection):
        keys = {key for score in batch for key in score.resources}
        statuses = engine.statuses(sorted(keys))
        there = {key for key, status in statuses.items() if status < FIRST_BAD}
        yield from (score for score in batch if not there.isdisjoint(score.resources))


def _batches(engine: Engine, collection: str) -> Iterator[list[PlaybackScore]]:
    wanted = QualityFilter(collection=collection, kind=FaultKind.MISSING)
    batch: list[PlaybackScore] = []
    keys = 0
    for score in engine.quality_index().scan(wanted):
        batch.append(score)
        keys += len(score.resources)
        if keys >= _BATCH_KEYS:
            yield batch
            batch, keys = [], 0
    if batch:
        yield batch
