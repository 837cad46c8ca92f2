"""Comparisons as JSON values, as printed by `nwx compare --json`."""

from bisect import bisect_right
from dataclasses import asdict
from typing import Any

from nwx.errors import TimestampError
from nwx.steering.comparison.comparison import CollectionComparison, ComparedCollection
from nwx.steering.comparison.counts import SCORE_BINS, CollectionCounts, Overlap, RelevanceCounts
from nwx.steering.comparison.quality import QUALITY_BINS, QualityChanges, QualityCounts
from nwx.values.timestamps import parse_timestamp

AGES = (1, 7, 30, 90, 365)
"""Upper bounds, in days, of the age groups of URLs; the last group has none."""

_DIGITS = 4


def comparison_json(comparison: CollectionComparison) -> dict[str, Any]:
    """Return a comparison as JSON values.

    Ages are days from the newest capture of a URL to the newest capture of all compared
    collections.
    """
    until = max(side.counts.last for side in comparison.sides)
    quality = comparison.quality
    values: dict[str, Any] = {"a": _side_json(comparison.a, until)}
    if comparison.b is not None:
        freshness, shared = asdict(comparison.freshness), comparison.urls.both
        seconds = freshness.pop("seconds")
        days = seconds / 86_400 / shared if shared else None
        values["b"] = _side_json(comparison.b, until)
        values["overlap"] = {
            name: overlap_json(getattr(comparison, name)) for name in ("urls", "hosts", "documents")
        }
        values["freshness"] = freshness | {"mean_days_apart": _rounded(days)}
    if quality is not None:
        for name, counts in zip("ab", quality.sides, strict=False):
            values[name]["quality"] = quality_json(counts)
        if quality.changes is not None:
            values["quality"] = _changes_json(quality.changes)
    if comparison.specification is not None:
        values["specification"] = {
            "name": comparison.specification.name,
            "version": comparison.specification.version(),
            "threshold": comparison.specification.thresholds.relevant,
            "seeds": len(comparison.specification.seeds),
        }
    values["hosts"] = [asdict(host) for host in comparison.top_hosts]
    return values


def overlap_json(overlap: Overlap) -> dict[str, Any]:
    """Return an overlap with its shares."""
    shares = ("share_of_a", "share_of_b", "jaccard")
    return asdict(overlap) | {name: _rounded(getattr(overlap, name)) for name in shares}


def quality_json(counts: QualityCounts) -> dict[str, Any]:
    """Return the results of the checks of a collection as JSON values."""
    return {
        "pages": counts.pages,
        "mean": _rounded(counts.mean),
        "distribution": {
            "from": [place / QUALITY_BINS for place in range(QUALITY_BINS)],
            "pages": list(counts.distribution),
        },
        "faults": dict(sorted(counts.faults.items())),
        "missing": counts.missing,
        "missing_resources": counts.missing_resources,
    }


def ages(counts: CollectionCounts, until: str) -> list[int]:
    """Return the number of URLs last captured within each of AGES before `until`, and earlier.

    URLs with damaged dates are in the last group.
    """
    groups = [0] * (len(AGES) + 1)
    try:
        end = parse_timestamp(until[:8])
    except TimestampError:
        end = None
    for day, urls in counts.newest_days.items():
        try:
            days = (end - parse_timestamp(day)).days if end else AGES[-1]
        except TimestampError:
            days = AGES[-1]
        groups[bisect_right(AGES, days)] += urls
    return groups


def _side_json(side: ComparedCollection, until: str) -> dict[str, Any]:
    counts = side.counts
    values: dict[str, Any] = {
        "name": side.name,
        **{
            name: getattr(counts, name)
            for name in (
                *("captures", "revisits", "urls", "hosts", "documents", "duplicates"),
                *("duplicate_bytes", "bytes", "first", "last", "errors"),
            )
        },
        "duplicate_share": _share(counts.duplicates, counts.captures),
        "error_share": _share(counts.errors, counts.captures),
        "statuses": dict(sorted(counts.statuses.items())),
        "ages": {"days": list(AGES), "urls": ages(counts, until)},
    }
    if side.relevance is not None:
        values["relevance"] = _relevance_json(side.relevance)
    if side.rules is not None:
        values["rules"] = asdict(side.rules)
    return values


def _changes_json(changes: QualityChanges) -> dict[str, Any]:
    lists = {"worst": changes.worst, "best": changes.best}
    return {
        **{name: getattr(changes, name) for name in ("both", "worse", "better", "same")},
        "mean_change": _rounded(changes.mean),
        "missing": overlap_json(changes.missing),
        **{
            name: [
                {
                    "url": page.url,
                    "timestamps": [page.timestamp_a, page.timestamp_b],
                    "scores": [_rounded(page.score_a), _rounded(page.score_b)],
                }
                for page in pages
            ]
            for name, pages in lists.items()
        },
    }


def _relevance_json(relevance: RelevanceCounts) -> dict[str, Any]:
    return {
        "pages": relevance.pages,
        "relevant": relevance.relevant,
        "unscored": relevance.unscored,
        "mean": _rounded(relevance.mean),
        "harvest_rate": _rounded(relevance.harvest_rate),
        "distribution": {
            "from": [place / SCORE_BINS for place in range(SCORE_BINS)],
            "documents": list(relevance.distribution),
        },
        "harvest": [asdict(point) for point in relevance.harvest()],
    }


def _share(part: int, whole: int) -> float | None:
    return _rounded(part / whole if whole else None)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
