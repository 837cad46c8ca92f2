"""nwx due"""

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, date_words, json_text, warn
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import open_for_reading
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.base import Engine
    from nwx.steering.due.due_urls import DueReport, DueUrl
    from nwx.steering.specifications.specification import CrawlSpecification


_AT_ONCE = 1_000


@click.command("due")
@option.string(
    "--since", "SPAN|DATE", "What was not captured for so long (12h, 30d, 8w, 1y), or since a date."
)
@option.string(
    "--spec",
    "NAME",
    "Intervals, rules and collection of this crawl specification: a name or a file.",
    into="name",
)
@option.string("--collection", "NAME", "Only of this collection.")
@option.string("--at", "DATE", "What is due then.  [default: now]")
@option.value(
    "--shortest",
    click.FloatRange(0, min_open=True),
    "DAYS",
    "The shortest interval that is estimated.",
    default=1.0,
)
@option.value(
    "--longest",
    click.FloatRange(0, min_open=True),
    "DAYS",
    "The longest interval that is estimated.",
    default=365.0,
)
@option.count("--limit", "N", "So many URLs at most.")
@option.flag("--queue", "Put them into the crawler's queue.", into="into_queue")
@option.flag("--json", "Print a JSON object per URL.", into="as_json")
@option.QUIET
@click.pass_obj
def command(
    settings: Settings,
    since: str,
    name: str,
    collection: str,
    at: str,
    shortest: float,
    longest: float,
    limit: int | None,
    into_queue: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """List URLs that are due to be captured again, most overdue first.

    A URL is due when its newest capture is older than its interval: --since, or
    that of the specification, or else the time between two changes as its
    captures show them. --queue has the crawler fetch them again: the URLs wait in
    the queue of the archive, or in the outbox for the queue of the specification.
    """
    from nwx.steering.due.due_urls import DueReport, asked_due, due_urls

    with open_for_reading(settings, writes=into_queue) as engine:
        specification = _specification(engine, name)
        question = asked_due(since, specification, collection, at, shortest, longest, limit)
        report = DueReport()
        with progress_bar(quiet=quiet) as show:
            found = due_urls(engine, question, report, show)
            if into_queue:
                _put(engine, specification, found, as_json=as_json)
            else:
                _print(found, as_json=as_json)
    _print_report(report, quiet=quiet or as_json)


def _specification(engine: "Engine", name: str) -> "CrawlSpecification | None":
    if not name:
        return None
    from nwx.steering.specifications.specification_store import specification_at

    return specification_at(engine.crawl_index(), name)


def _print(found: "Iterator[DueUrl]", *, as_json: bool) -> None:
    for one in found:
        click.echo(_json(one) if as_json else _line(one))


def _line(due: "DueUrl") -> str:
    interval = f"{due.interval_days:.1f}d"
    return clean(f"{due.overdue:>7.1f}x  {interval:>8}  {date_words(due.last)}  {due.url}")


def _json(due: "DueUrl") -> str:
    import msgspec

    return json_text(msgspec.to_builtins(due))


def _put(
    engine: "Engine",
    specification: "CrawlSpecification | None",
    found: "Iterator[DueUrl]",
    *,
    as_json: bool,
) -> None:
    """Put URLs into the queue, or into the outbox where that is elsewhere."""
    crawl = specification.name if specification else ""
    queue = specification.queue if specification else ""
    left_out = 0
    while some := list(islice(found, _AT_ONCE)):
        updates = [update for one in some if (update := one.update(crawl))]
        left_out += len(some) - len(updates)
        if queue:
            engine.outbox().add(updates, queue)
        else:
            engine.crawl_queue().put(updates)
        if as_json:
            _print(iter(some), as_json=True)
    if left_out:
        were = "was" if left_out == 1 else "were"
        warn(f"{counted(left_out, 'URL')} that no queue takes {were} left out")
    if queue:
        click.echo(
            f"they wait for {clean(queue)} in the outbox; `nwx queue deliver` sends them", err=True
        )


def _print_report(report: "DueReport", *, quiet: bool) -> None:
    if report.unreadable:
        noun = counted(report.unreadable, "capture")
        warn(f"{noun} with a date that cannot be read")
    if not quiet:
        click.echo(f"{report.due:,} of {counted(report.urls, 'URL')} due", err=True)
