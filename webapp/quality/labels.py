"""Playback scores in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from nwx.engine.quality.quality_index import Fault, PlaybackScore
from nwx.values.fault_kinds import FaultKind

FAULT_LABELS: dict[str, tuple[str, str]] = {
    FaultKind.MISSING: ("Missing", "The archive does not have the resource."),
    FaultKind.FAILED: (
        "Failed",
        "The resource is in the archive, but was not played, or came with an error that the crawl"
        " did not get; or the page itself could not be opened.",
    ),
    FaultKind.LEAK: ("Leak", "The page asked for something outside the archive; it got nothing."),
    FaultKind.CONSOLE: ("Script error", "A script ended with an error that the crawl did not see."),
    FaultKind.REDIRECT_LOOP: ("Redirect loop", "The page redirects to itself without end."),
    FaultKind.FAR: (
        "Far in time",
        "The resource was captured long before or after the page.",
    ),
    FaultKind.TIMEOUT: ("Timeout", "The page was not loaded when its time was up."),
    FaultKind.CRASH: ("Crash", "The browser process of the page ended."),
    FaultKind.REFUSED: (
        "Refused",
        "The page did what no page may: a download, a dialog, a window, a socket.",
    ),
}
"""What the kinds of fault are called, and what they mean."""

_GOOD, _FAIR = 0.9, 0.6
_UNITS = (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600))


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a score, and what it means; `share` is 0 to 1 where it is one."""

    name: str
    value: str
    meaning: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """The faults of a kind that a page has."""

    kind: str
    label: str
    meaning: str
    faults: tuple[Fault, ...]


def fault_label(kind: str) -> str:
    """Return what a kind of fault is called."""
    return FAULT_LABELS.get(kind, (kind, ""))[0]


def grade(score: float) -> str:
    """Return how good a score is: good, fair or bad."""
    return "good" if score >= _GOOD else "fair" if score >= _FAIR else "bad"


def fault_groups(faults: Sequence[Fault]) -> list[FaultGroup]:
    """Return faults by kind, in the order of FAULT_LABELS."""
    places = {kind: number for number, kind in enumerate(FAULT_LABELS)}

    def place(fault: Fault) -> tuple[int, str]:
        return places.get(fault.kind, len(places)), fault.kind

    return [
        FaultGroup(kind, *FAULT_LABELS.get(kind, (kind, "")), tuple(group))
        for (_, kind), group in groupby(sorted(faults, key=place), key=place)
    ]


def counted_kinds(score: PlaybackScore) -> list[tuple[str, int]]:
    """Return the kinds of fault that are kept of a page, and how many of each."""
    return [(one.label, len(one.faults)) for one in fault_groups(score.faults)]


def measures(score: PlaybackScore) -> list[Measure]:
    """Return the numbers of a score that are known, with words."""
    likeness = [
        (
            "Screenshot",
            score.screenshot,
            "Pixels of the first screen that are equal in the crawl and in playback.",
        ),
        (
            "Structure",
            score.structure,
            "How alike the screenshots are when shifts by a line and small changes do not count.",
        ),
        ("Text", score.text, "How much of the text that the crawl's browser showed is shown."),
    ]
    found = [
        Measure(name, percent(share), meaning, share)
        for name, share, meaning in likeness
        if share is not None
    ]
    found += _resources("in the crawl", score.crawl_good, score.crawl_bad)
    found += _resources("in playback", score.replay_good, score.replay_bad)
    for name, seconds in (("furthest", score.worst_seconds), ("on average", score.mean_seconds)):
        if seconds is not None:
            meaning = "How far from the page its resources were captured."
            found.append(Measure(f"Time apart, {name}", duration(seconds), meaning))
    return found


def _resources(where: str, good: int | None, bad: int | None) -> list[Measure]:
    if good is None and bad is None:
        return []
    meaning = f"Resources of the page that came {where}, and that came with errors or not at all."
    return [Measure(f"Resources {where}", f"{good or 0:,} good, {bad or 0:,} bad", meaning)]


def percent(share: float) -> str:
    """Return a share in percent; only what is equal is 100 %."""
    shown = round(share * 100, 1)
    if shown >= 100 > share * 100:
        shown = 99.9
    return f"{shown:g} %"


def duration(seconds: int) -> str:
    """Return a time in its largest unit: "3 days"."""
    for unit, length in _UNITS:
        if seconds >= length:
            count = round(seconds / length)
            return f"{count:,} {unit}" + ("s" if count != 1 else "")
    return "less than an hour" if seconds else "none"


def month_words(month: str) -> str:
    """Return a month, YYYYMM, as it is written in addresses: YYYY-MM."""
    return f"{month[:4]}-{month[4:]}"
