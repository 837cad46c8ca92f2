"""What a run of analysis says while it runs and when it is over."""

from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from nwx.model import ReadError

_ERRORS_LISTED = 1_000
ANALYSIS = "analysis"
"""The kind of the errors of pages that could not be analysed."""


@dataclass(frozen=True, slots=True)
class SteeringReport:
    """What the analysis by a version of a specification did.

    `analysed` pages have scores now; `relevant` are those of them that
    reach the threshold. `links` were scored, `blacklisted` are those of them
    that are. `sent` counts updates for the queue, `undelivered` those of
    all runs that the queue has not taken yet, `delivery_problem` why. `triples` are those that are
    new to their store. `waiting` pages are left for
    later, `failed` ones are those whose analysis failed or took too long:
    `errors` lists the first. `stopped` says why the analysis ended early.
    """

    crawl: str = ""
    version: str = ""
    analysed: int = 0
    relevant: int = 0
    links: int = 0
    blacklisted: int = 0
    sent: int = 0
    undelivered: int = 0
    delivery_problem: str = ""
    triples: int = 0
    waiting: int = 0
    failed: int = 0
    errors: tuple[ReadError, ...] = ()
    stopped: str = ""
    interrupted: bool = False
    seconds: float = 0.0


def steering_report_json(report: SteeringReport) -> dict[str, Any]:
    """Return a report as programs read it."""
    return asdict(report) | {"seconds": round(report.seconds, 3)}


@dataclass(slots=True)
class SteeringTally:
    """The running figures of a run; `left` counts pages left for later."""

    crawl: str
    version: str
    counts: Counter[str] = field(default_factory=Counter)
    errors: list[ReadError] = field(default_factory=list)

    def fail(self, error: ReadError) -> None:
        """Count a page that could not be analysed."""
        self.counts["failed"] += 1
        if len(self.errors) < _ERRORS_LISTED:
            self.errors.append(error)

    def report(self, waiting: int, seconds: float) -> SteeringReport:
        """Return the figures with so many pages that wait."""
        counts = self.counts
        return SteeringReport(
            self.crawl,
            self.version,
            analysed=counts["analysed"],
            relevant=counts["relevant"],
            links=counts["links"],
            blacklisted=counts["blacklisted"],
            sent=counts["sent"],
            triples=counts["triples"],
            waiting=waiting + counts["left"],
            failed=counts["failed"],
            errors=tuple(self.errors),
            seconds=seconds,
        )


def added_reports(past: SteeringReport, now: SteeringReport, left: int) -> SteeringReport:
    """Return the figures of two runs, one behind the other; `left` more pages wait."""
    return replace(
        now,
        crawl=past.crawl,
        version=past.version,
        analysed=past.analysed + now.analysed,
        relevant=past.relevant + now.relevant,
        links=past.links + now.links,
        blacklisted=past.blacklisted + now.blacklisted,
        sent=past.sent + now.sent,
        triples=past.triples + now.triples,
        waiting=past.waiting + now.waiting + left,
        failed=past.failed + now.failed,
        errors=(*past.errors, *now.errors)[:_ERRORS_LISTED],
        stopped=now.stopped or past.stopped,
        seconds=past.seconds + now.seconds,
    )
