"""nwx due"""

from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, date_words, json_text, progress_bar, warn
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.queue.due_urls import DueReport, DueUrl


@click.command("due")
@option.string(
    "--since", "SPAN|DATE", "What was not captured for so long (12h, 30d, 8w, 1y), or since a date."
)
@option.string(
    "--spec",
    "NAME",
    "Intervals, rules and collection of this crawl specification: a name or a file.",
    into="spec",
)
@option.string("--collection", "NAME", "Only of this collection.")
@option.string("--at", "DATE", "What is due then.  [default: now]")
@option.above_zero("--shortest", "DAYS", "The shortest interval that is estimated.", default=1.0)
@option.above_zero("--longest", "DAYS", "The longest interval that is estimated.", default=365.0)
@option.count("--limit", "N", "So many URLs at most.")
@option.flag("--queue", "Put them into the crawler's queue.", into="into_queue")
@option.flag("--json", "Print a JSON object per URL.", into="as_json")
@option.QUIET
@click.pass_obj
def command(
    settings: Settings, /, into_queue: bool, as_json: bool, quiet: bool, **asked: Any
) -> None:
    """List URLs that are due to be captured again, most overdue first.

    A URL is due when its newest capture is older than its interval: --since, or
    that of the specification, or else the time between two changes as its
    captures show them. --queue has the crawler fetch them again: the URLs wait in
    the queue of the archive, or in the outbox for the queue of the specification.
    """

    def show(one: "DueUrl") -> None:
        if as_json or not into_queue:
            click.echo(_json(one) if as_json else _line(one))

    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        if into_queue:
            report, put = archive.queue_due(**asked, progress=progress, show=show)
            warn_left_out(put.left_out)
            if put.queue:
                waits = f"they wait for {clean(put.queue)} in the outbox"
                click.echo(f"{waits}; `nwx queue deliver` sends them", err=True)
        else:
            found, report = archive.due_report(**asked, progress=progress)
            for one in found:
                show(one)
    _print_report(report, quiet=quiet or as_json)


def warn_left_out(urls: int) -> None:
    """Say how many URLs were not put into a queue."""
    if urls:
        were = "was" if urls == 1 else "were"
        warn(f"{counted(urls, 'URL')} that no queue takes {were} left out")


def _line(due: "DueUrl") -> str:
    interval = f"{due.interval_days:.1f}d"
    return clean(f"{due.overdue:>7.1f}x  {interval:>8}  {date_words(due.last)}  {due.url}")


def _json(due: "DueUrl") -> str:
    import msgspec

    return json_text(msgspec.to_builtins(due))


def _print_report(report: "DueReport", *, quiet: bool) -> None:
    if report.unreadable:
        noun = counted(report.unreadable, "capture")
        warn(f"{noun} with a date that cannot be read")
    if not quiet:
        click.echo(f"{report.due:,} of {counted(report.urls, 'URL')} due", err=True)
