"""Labels and explanations of playback scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from babel.units import format_unit
from flask_babel import LazyString, gettext, lazy_gettext

from nwx.quality.monitor.report import AlertKind
from nwx.quality.scores import Fault, PlaybackScore
from nwx.values.render_names import FaultKind
from webapp.site import words
from webapp.site.preferences import page_locale

FAULT_LABELS: dict[str, tuple[LazyString, LazyString]] = {
    FaultKind.MISSING: (
        lazy_gettext("Missing"),
        lazy_gettext("The archive does not have the resource."),
    ),
    FaultKind.FAILED: (
        lazy_gettext("Failed"),
        lazy_gettext(
            "The resource is in the archive, but was not played, or came with an error that the"
            " crawl did not get; or the page itself could not be opened."
        ),
    ),
    FaultKind.ORIGINAL: (
        lazy_gettext("Original missing"),
        lazy_gettext("The resource was captured as a revisit only; its original is in no file."),
    ),
    FaultKind.SHORT: (
        lazy_gettext("Text cut"),
        lazy_gettext("The page shows less than half of the text that the crawl's browser showed."),
    ),
    FaultKind.STATUS: (
        lazy_gettext("Wrong status"),
        lazy_gettext("The page was played with another status than it was captured with."),
    ),
    FaultKind.LEAK: (
        lazy_gettext("Leak"),
        lazy_gettext("The page asked for something outside the archive; it got nothing."),
    ),
    FaultKind.CONSOLE: (
        lazy_gettext("Script error"),
        lazy_gettext("A script ended with an error that the crawl did not see."),
    ),
    FaultKind.REDIRECT_LOOP: (
        lazy_gettext("Redirect loop"),
        lazy_gettext("The page redirects to itself endlessly."),
    ),
    FaultKind.FAR: (
        lazy_gettext("Far in time"),
        lazy_gettext("The resource was captured long before or after the page."),
    ),
    FaultKind.TIMEOUT: (
        lazy_gettext("Timeout"),
        lazy_gettext("The page was not loaded when its time was up."),
    ),
    FaultKind.CRASH: (
        lazy_gettext("Crash"),
        lazy_gettext("The browser process of the page ended."),
    ),
    FaultKind.REFUSED: (
        lazy_gettext("Refused"),
        lazy_gettext("The page did what no page may: a download, a dialog, a window, a socket."),
    ),
}
"""The names and meanings of the kinds of fault."""

_GOOD, _FAIR = 0.9, 0.6
_UNITS = (("year", 31_557_600), ("month", 2_629_800), ("day", 86_400), ("hour", 3_600))


@dataclass(frozen=True, slots=True)
class Measure:
    """A number of a score with its meaning; `share` is 0 to 1, None if it is not a share."""

    name: str
    value: str
    meaning: str
    share: float | None = None


@dataclass(frozen=True, slots=True)
class FaultGroup:
    """The faults of a page of one kind."""

    kind: str
    label: str
    meaning: str
    faults: tuple[Fault, ...]


def fault_label(kind: str) -> str:
    """Return the name of a kind of fault in the language of the page."""
    return str(FAULT_LABELS[kind][0]) if kind in FAULT_LABELS else kind


def grade(score: float) -> str:
    """Return the grade of a score: good, fair or bad."""
    return "good" if score >= _GOOD else "fair" if score >= _FAIR else "bad"


def fault_groups(faults: Sequence[Fault]) -> list[FaultGroup]:
    """Return faults by kind, in the order of FAULT_LABELS."""
    places = {kind: number for number, kind in enumerate(FAULT_LABELS)}

    def place(fault: Fault) -> tuple[int, str]:
        return places.get(fault.kind, len(places)), fault.kind

    return [
        FaultGroup(kind, fault_label(kind), _meaning(kind), tuple(group))
        for (_, kind), group in groupby(sorted(faults, key=place), key=place)
    ]


def _meaning(kind: str) -> str:
    return str(FAULT_LABELS[kind][1]) if kind in FAULT_LABELS else ""


def counted_kinds(score: PlaybackScore) -> list[tuple[str, int]]:
    """Return the names of the kinds of fault of a page, with the number of each."""
    return [(one.label, len(one.faults)) for one in fault_groups(score.faults)]


def measures(score: PlaybackScore) -> list[Measure]:
    """Return the known numbers of a score, with names and meanings."""
    likeness = [
        (
            gettext("Screenshot"),
            score.screenshot,
            gettext("Pixels of the first screen that are equal in the crawl and in playback."),
        ),
        (
            gettext("Structure"),
            score.structure,
            gettext(
                "How alike the screenshots are when shifts by a line and small changes do not"
                " count."
            ),
        ),
        (
            gettext("Text"),
            score.text,
            gettext("How much of the text that the crawl's browser showed is shown."),
        ),
    ]
    found = [
        Measure(name, percent(share), meaning, share)
        for name, share, meaning in likeness
        if share is not None
    ]
    return [*found, *_resources(score), *_times_apart(score)]


def _resources(score: PlaybackScore) -> Iterator[Measure]:
    counts = (
        (
            gettext("Resources in the crawl"),
            gettext(
                "Resources of the page that came in the crawl, and that came with errors or not"
                " at all."
            ),
            score.crawl_good,
            score.crawl_bad,
        ),
        (
            gettext("Resources in playback"),
            gettext(
                "Resources of the page that came in playback, and that came with errors or not"
                " at all."
            ),
            score.replay_good,
            score.replay_bad,
        ),
    )
    for name, meaning, good, bad in counts:
        if good is not None or bad is not None:
            told = gettext(
                "%(good)s good, %(bad)s bad",
                good=words.grouped(good or 0),
                bad=words.grouped(bad or 0),
            )
            yield Measure(name, told, meaning)


def _times_apart(score: PlaybackScore) -> Iterator[Measure]:
    meaning = gettext("How far from the page its resources were captured.")
    if score.worst_seconds is not None:
        yield Measure(gettext("Time apart, furthest"), duration(score.worst_seconds), meaning)
    if score.mean_seconds is not None:
        yield Measure(gettext("Time apart, on average"), duration(score.mean_seconds), meaning)


def percent(share: float) -> str:
    """Return a share in percent; only exactly 1 is shown as 100 %."""
    shown = round(share * 100, 1)
    if shown >= 100 > share * 100:
        shown = 99.9
    return words.percentage(shown / 100, "#")


def duration(seconds: int) -> str:
    """Return a duration in its largest unit: "3 days"."""
    for unit, length in _UNITS:
        if seconds >= length:
            return format_unit(
                round(seconds / length), f"duration-{unit}", "long", locale=page_locale()
            )
    return gettext("less than an hour") if seconds else gettext("none")


def month_words(month: str) -> str:
    """Return a month YYYYMM as YYYY-MM, the form used in addresses."""
    return f"{month[:4]}-{month[4:]}"


ALERT_NAMES = {
    AlertKind.ERRORS: lazy_gettext("errors"),
    AlertKind.SILENT: lazy_gettext("silent"),
    AlertKind.ROBOTS: lazy_gettext("denied by robots.txt"),
    AlertKind.WALL: lazy_gettext("same text everywhere"),
    AlertKind.TRAP: lazy_gettext("trap"),
    AlertKind.RATE: lazy_gettext("slower"),
    AlertKind.DISK: lazy_gettext("disk"),
}
"""The names of the kinds of monitor alerts."""
