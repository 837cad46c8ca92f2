"""Playback scores as entries of the index quality, and back."""

from collections.abc import Iterable, Mapping
from typing import Any

from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.quality.quality_index import Fault, PlaybackScore
from nwx.model import RenderPlace

MOST_FAULTS = 500
"""So many faults of a page are kept."""

MOST_MISSING_KEPT = 1_000
"""So many urlkeys of missing resources of a page are kept."""

_DETAIL_CHARACTERS = 2_000
_URL_CHARACTERS = 8_000
_TEXTS = ("id", "collection", "url", "urlkey", "host", "domain", "timestamp", "checked", "rules")
_NUMBERS = (
    "screenshot",
    "structure",
    "text",
    "crawl_good",
    "crawl_bad",
    "replay_good",
    "replay_bad",
    "worst_seconds",
    "mean_seconds",
)
_VIEWS = ("crawl_view", "playback_view")


def quality_entry(score: PlaybackScore) -> IndexEntry:
    """Return a score as an entry; of faults MOST_FAULTS are kept, of resources MOST_MISSING_KEPT.

    Of more faults the first of each kind are among them. Urlkeys that are
    too long for an index are left out.
    """
    kept = _kept(score.faults)
    missing = [key for key in map(clean_text, score.resources) if 0 < len(key) <= _URL_CHARACTERS]
    entry: IndexEntry = {
        **{name: clean_text(getattr(score, name)) for name in _TEXTS},
        "month": month_of(score),
        "score": score.score,
        **{name: getattr(score, name) for name in _NUMBERS},
        "kinds": kinds_of(score),
        "faults": [_fault_entry(fault) for fault in kept],
        "faults_total": max(score.faults_total, len(score.faults)),
        **{name: place._asdict() for name in _VIEWS if (place := getattr(score, name))},
        "resources": missing[:MOST_MISSING_KEPT],
    }
    return {name: value for name, value in entry.items() if value not in (None, "", [])}


def quality_from_entry(entry: Mapping[str, Any]) -> PlaybackScore:
    """Return the score of an entry."""
    views = {name: RenderPlace(**entry[name]) for name in _VIEWS if name in entry}
    values: dict[str, Any] = {name: entry.get(name, "") for name in _TEXTS}
    values |= {name: entry.get(name) for name in _NUMBERS} | views
    return PlaybackScore(
        **values,
        score=entry["score"],
        faults=tuple(Fault(**fault) for fault in entry.get("faults", ())),
        faults_total=entry["faults_total"],
        resources=tuple(entry.get("resources", ())),
    )


def month_of(score: PlaybackScore) -> str:
    """Return the month of the capture, YYYYMM."""
    return score.timestamp[:6]


def kinds_of(score: PlaybackScore) -> list[str]:
    """Return the kinds of fault that a page has, in order."""
    return sorted({fault.kind for fault in score.faults})


def _kept(faults: tuple[Fault, ...]) -> Iterable[Fault]:
    if len(faults) <= MOST_FAULTS:
        return faults
    firsts = {fault.kind: number for number, fault in reversed(list(enumerate(faults)))}.values()
    others = sorted(set(range(len(faults))) - set(firsts))
    chosen = sorted([*firsts, *others][:MOST_FAULTS])
    return [faults[number] for number in chosen]


def _fault_entry(fault: Fault) -> IndexEntry:
    found = {
        "kind": fault.kind,
        "resource": clean_text(fault.resource[:_URL_CHARACTERS]),
        "status": fault.status,
        "detail": clean_text(fault.detail[:_DETAIL_CHARACTERS]),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}
