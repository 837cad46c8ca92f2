"""The option --steer of nwx import and nwx watch, and printing of analysis reports."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, error_line, json_text, opened_archive, warn, warn_first
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.bulk.progress import WorkProgress
    from nwx.captures import PagePlace
    from nwx.steering.listener import SteeringListener
    from nwx.steering.options import SteeringOptions, SteeringReport
    from nwx.warc.sources import ArchiveSource


_ERRORS_SHOWN = 5
_TELL_SECONDS = 5.0

_steer = option.string(
    "--steer",
    "SPEC",
    help="Analyse new pages by a crawl specification (a file, or its name in the archive),"
    " and send links to the crawler's queue.",
    default=None,
)


@dataclass(frozen=True, slots=True)
class AnalysisChoices:
    """The analysis options given on the command line."""

    nlp: str
    spam_hosts: str | None
    triples: bool

    def options(self, **more: Any) -> "SteeringOptions":
        """Return the options of an analysis, with `more` of them."""
        from nwx.steering.options import SteeringOptions

        return SteeringOptions(
            nlp=self.nlp, spam_hosts=self.spam_hosts or "", triples=self.triples, **more
        )


def taken_choices(given: dict[str, Any]) -> AnalysisChoices:
    """Remove the analysis options from the arguments of a command, and return them."""
    return AnalysisChoices(given.pop("nlp"), given.pop("spam_hosts"), given.pop("triples"))


analysis_options = option.option_set(
    option.string("--nlp", "spacy:MODEL", "Analyse text by a spaCy model."),
    option.value(
        "--spam-hosts",
        click.Path(exists=True, dir_okay=False),
        "FILE",
        "Hosts whose links are never followed, one per line.",
    ),
    option.flag("--triples", "Store what analysed pages state as triples."),
)
"""The options for analysing pages."""

steer_options = option.option_set(_steer, analysis_options)


_NO_CHOICES = AnalysisChoices("", None, triples=False)


@contextmanager
def listening(
    settings: Settings, specification: str | None, choices: AnalysisChoices
) -> "Iterator[SteeringListener | None]":
    """Yield the listener that receives new pages, None without a specification."""
    if not specification:
        if choices != _NO_CHOICES:
            raise UsageError("--nlp, --spam-hosts and --triples need --steer SPEC")
        yield None
        return
    with (
        opened_archive(settings) as archive,
        archive.steering(specification, choices.options()) as listener,
    ):
        yield listener


def steering_progress(report: "SteeringReport") -> "WorkProgress":
    """Return the progress of the analysis."""
    from nwx.bulk.progress import WorkProgress

    done = report.analysed + report.failed
    counts = {"page": report.analysed, "link": report.links, "failure": report.failed}
    return WorkProgress("analysing", done, done + report.waiting, counts=counts)


def print_steering_errors(report: "SteeringReport") -> None:
    """Print which pages could not be analysed, and why the analysis ended early."""
    shown = min(len(report.errors), _ERRORS_SHOWN)
    lines = (error_line(error, kind=False) for error in report.errors)
    warn_first(lines, shown, report.failed, "page", " not analysed")
    if report.undelivered and report.delivery_problem:
        warn(
            f"{counted(report.undelivered, 'update')} not delivered:"
            f" {clean(report.delivery_problem)}"
        )
    if report.stopped:
        warn(
            f"the analysis ended early: {clean(report.stopped)};"
            f" `nwx steer {clean(report.crawl)}` resumes it"
        )


def steering_summary(report: "SteeringReport") -> str:
    """Return the counts of an analysis as text."""
    words = [
        f"{counted(report.analysed, 'page')} analysed ({report.relevant:,} relevant)",
        f"{counted(report.links, 'link')} scored ({report.blacklisted:,} blacklisted)",
        f"{counted(report.sent, 'update')} sent",
    ]
    if report.triples:
        words.append(f"{counted(report.triples, 'triple')} stored")
    if report.undelivered:
        words.append(f"{report.undelivered:,} not delivered yet")
    if report.failed:
        words.append(f"{counted(report.failed, 'failure')}")
    if report.waiting:
        words.append(f"{counted(report.waiting, 'page')} left for `nwx steer {report.crawl}`")
    return clean(", ".join(words))


class ToldAnalysis:
    """A listener for nwx watch, which prints the progress of the analysis."""

    def __init__(self, listener: "SteeringListener", *, as_json: bool) -> None:
        self._listener, self._as_json = listener, as_json
        self._told = listener.report()
        self._next = 0.0

    def on_documents(self, source: "ArchiveSource", pages: "Sequence[PagePlace]") -> None:
        """Pass the new pages of a file to the analysis."""
        self._listener.on_documents(source, pages)

    def idle(self) -> None:
        """Analyse pages that were left, and print the progress."""
        self._listener.idle()
        if time.monotonic() >= self._next:
            self._tell(self._listener.report())

    def finish(self, stopping: Callable[[], bool]) -> None:
        """Wait for the end of the analysis, and print its results."""
        self._tell(self._listener.finish(stopping=stopping))

    def _tell(self, report: "SteeringReport") -> None:
        before, self._told = self._told, report
        figures = (report.analysed, report.failed, report.waiting, report.stopped)
        if figures == (before.analysed, before.failed, before.waiting, before.stopped):
            return
        self._next = time.monotonic() + _TELL_SECONDS
        if self._as_json:
            from nwx.steering.options import steering_report_json

            fields = steering_report_json(report)
            fields["errors"] = fields["errors"][len(before.errors) :]
            click.echo(json_text({"event": "analysed"} | fields))
        else:
            print_steering_errors(_news(before, report))
            click.echo(steering_summary(report))
        sys.stdout.flush()


def _news(before: "SteeringReport", now: "SteeringReport") -> "SteeringReport":
    """Return a report with only the errors since an earlier report."""
    return replace(
        now,
        errors=now.errors[len(before.errors) :],
        failed=now.failed - before.failed,
        stopped=now.stopped if now.stopped != before.stopped else "",
    )
