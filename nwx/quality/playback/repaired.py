"""Pages that lacked resources when they were checked, of which some have been captured since."""

from collections.abc import Collection, Iterator

from nwx.engine.base import Engine
from nwx.engine.quality.quality_index import PlaybackScore, QualityFilter
from nwx.model import Capture
from nwx.quality.measures.resource_counts import FIRST_BAD
from nwx.quality.playback.faults import ERROR_ONLY
from nwx.quality.playback.suspects import resource_key
from nwx.quality.scores.scored_captures import CaptureMark, marked_captures
from nwx.values.fault_kinds import FaultKind

_BATCH_KEYS, _BATCH_SCORES = 1_000, 200


def repaired_pages(engine: Engine, collection: str = "") -> set[str]:
    """Return the ids of checked captures that may play better now.

    The archive has a capture with success of a resource that was missing,
    or that it had an error of alone.
    """
    return {score.id for score in _repaired(engine, collection)}


def repaired_captures(engine: Engine) -> list[Capture]:
    """Return those captures themselves, of all collections."""
    repaired = _repaired(engine, "")
    marks = {CaptureMark(score.id, score.urlkey, score.timestamp) for score in repaired}
    return list(marked_captures(engine, sorted(marks)).values())


def _repaired(engine: Engine, collection: str) -> Iterator[PlaybackScore]:
    """Yield the scores of those pages; one that lacked things of both kinds may come twice."""
    for batch in _batches(engine, collection):
        statuses = engine.statuses(sorted({key for _, lacking in batch for key in lacking}))
        there = {key for key, status in statuses.items() if status < FIRST_BAD}
        yield from (score for score, lacking in batch if not there.isdisjoint(lacking))


def _batches(
    engine: Engine, collection: str
) -> Iterator[list[tuple[PlaybackScore, Collection[str]]]]:
    """Yield scores, each with urlkeys of what its page lacks."""
    batch: list[tuple[PlaybackScore, Collection[str]]] = []
    keys = 0
    for kind in (FaultKind.MISSING, FaultKind.FAILED):
        for score in engine.quality_index().scan(QualityFilter(collection=collection, kind=kind)):
            lacking = score.resources if kind is FaultKind.MISSING else _errors(score)
            batch.append((score, lacking))
            keys += len(lacking)
            if keys >= _BATCH_KEYS or len(batch) >= _BATCH_SCORES:
                yield batch
                batch, keys = [], 0
    if batch:
        yield batch


def _errors(score: PlaybackScore) -> set[str]:
    """Return the urlkeys of what was archived with errors alone."""
    faults = (fault for fault in score.faults if fault.detail == ERROR_ONLY)
    return {key for fault in faults if (key := resource_key(fault.resource))}
