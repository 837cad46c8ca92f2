"""nwx queue and nwx due"""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.bulk.resources import usual_workers
from nwx.cli import option
from nwx.cli.options import (
    HOST_NAMES,
    LISTEN_HOST,
    LISTEN_PORT,
    PROTECTION,
    SERVER_THREADS,
    SERVER_WORKERS,
    TRUSTED_PROXIES,
    protection_of,
)
from nwx.cli.output import (
    clean,
    counted,
    date_words,
    json_text,
    opened_archive,
    print_json,
    progress_bar,
    warn,
)
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.queue.due_urls import DueReport, DueUrl
    from nwx.steering.queue.queue_work import QueuedUrl


_FORMS = ("urls", "browsertrix", "brozzler", "heritrix-schedule", "heritrix-include")
_OF_CRAWL = option.string("--crawl", "NAME", "Only of this crawl.  [default: all crawls]")
_URLS = option.option_set(
    click.argument("urls", nargs=-1, metavar="[URL]..."),
    option.string(
        "--file", "FILE", "Also the URLs in FILE, one per line; - for standard input.", default=None
    ),
    option.string("--crawl", "NAME", "The name of the crawl.  [default: none]"),
)


@click.group("queue", invoke_without_command=True)
@LISTEN_HOST
@HOST_NAMES
@LISTEN_PORT
@SERVER_WORKERS
@SERVER_THREADS
@option.string("--queue-token", "TEXT", "Token that allows using the queue.  [NWX_QUEUE_TOKEN]")
@option.seconds("--delay", "Seconds between two leases of a host.", default=1.0)
@option.whole_number(
    "--in-flight",
    "N",
    "URLs of a host that are leased at the same time; 0 for any number.",
    default=1,
)
@option.whole_number(
    "--pages-per-host", "N", "URLs leased of a host in a crawl whose specification sets no limit."
)
@TRUSTED_PROXIES
@PROTECTION
@click.pass_context
def queue_command(
    context: click.Context,
    /,
    workers: int | None,
    queue_token: str,
    delay: float,
    in_flight: int,
    pages_per_host: int | None,
    **given: Any,
) -> None:
    """Serve and change the queue of URLs that crawlers fetch.

    Without a command, the queue is served at /urls until Ctrl-C: programs send
    URLs with priorities, crawlers lease the URLs to fetch next, as
    docs/steering-protocol.md describes. `nwx serve` serves it too.
    """
    if context.invoked_subcommand is not None:
        return
    from nwx.steering.queue.queue_work import LeaseLimits
    from webapp.server.small_servers import QueueServerSettings, serve_queue

    settings: Settings = context.obj
    token = queue_token or settings.queue_token
    if not token:
        raise UsageError("the queue needs a token; set NWX_QUEUE_TOKEN or --queue-token")

    def ready(address: str) -> None:
        click.echo(f"nwx serves the queue of {clean(settings.engine)} at {address}/urls", nl=False)
        click.echo(" (Ctrl-C ends)")

    service = QueueServerSettings(
        archive=settings,
        token=token,
        workers=workers or usual_workers(),
        limits=LeaseLimits(delay, in_flight or None, pages_per_host),
        protection=protection_of(settings, given),
        **given,
    )
    serve_queue(service, ready)


@queue_command.command("list")
@_OF_CRAWL
@option.string("--host", "HOST", "Only of this host.")
@option.choice_of("--state", ["waiting", "leased", "done", "blacklisted"], "Only of this state.")
@option.count("--limit", "N", "List at most N URLs.")
@option.JSON
@click.pass_obj
def list_urls(
    settings: Settings, crawl: str, host: str, state: str | None, limit: int | None, as_json: bool
) -> None:
    """List the URLs of the queue in the order they were added.

    One line per URL: its priority, state and address. --json prints an object
    per line.
    """
    with opened_archive(settings) as archive:
        for one in islice(archive.queued(crawl, host, state or ""), limit):
            click.echo(_line(one, as_json=as_json))


def _line(queued: "QueuedUrl", *, as_json: bool) -> str:
    if as_json:
        from nwx.steering.queue.queue_work import queued_to_json

        return json_text(queued_to_json(queued))
    priority = "-" if queued.priority is None else f"{queued.priority:.3f}"
    crawl = f"  {queued.crawl}" if queued.crawl else ""
    return clean(f"{priority:>5}  {queued.state:<11}  {queued.url}{crawl}")


@queue_command.command("add")
@_URLS
@option.value(
    "--priority",
    option.Number(0, 1),
    None,
    "From 0 to 1; the highest is fetched first.",
    default=0.5,
)
@option.string("--via", "URL", "The page that links to them.")
@option.flag("--again", "Also fetch URLs again that were fetched.")
@option.JSON
@click.pass_obj
def add_urls(settings: Settings, /, **given: Any) -> None:
    """Add URLs, or change their priority.

    Blacklisted URLs stay blacklisted.
    """
    _put(settings, **given)


@queue_command.command()
@_URLS
@option.JSON
@click.pass_obj
def blacklist(settings: Settings, /, **given: Any) -> None:
    """Blacklist URLs.

    They are not fetched, even if added later, until the blacklisting is lifted.
    """
    _put(settings, priority=None, **given)


@queue_command.command()
@_URLS
@option.JSON
@click.pass_obj
def lift(settings: Settings, /, **given: Any) -> None:
    """Lift the blacklisting of URLs.

    Their earlier priority is restored.
    """
    _put(settings, priority=None, lifted=True, **given)


def _given(urls: Sequence[str], file: str | None) -> Iterator[str]:
    if not urls and not file:
        raise UsageError("there are no URLs; name some, or a file with --file")
    yield from urls
    if file:
        yield from (line.strip() for line in _lines(file) if line.strip())


def _lines(file: str) -> Iterator[str]:
    if file == STANDARD_INPUT:
        yield from sys.stdin
        return
    with Path(file).open(encoding="utf-8", errors="replace") as stream:
        yield from stream


def _put(
    settings: Settings,
    *,
    urls: Sequence[str],
    file: str | None,
    as_json: bool,
    **update: Any,
) -> None:
    from nwx.steering.queue.queue_work import UrlUpdate

    with opened_archive(settings) as archive:
        counts = archive.put_urls(UrlUpdate(url, **update) for url in _given(urls, file))
    if as_json:
        print_json(asdict(counts))
        return
    blacklisted = f", {counts.blacklisted:,} blacklisted" if counts.blacklisted else ""
    click.echo(
        f"{counted(counts.new, 'new URL')}, {counts.changed:,} changed, "
        f"{counts.unchanged:,} unchanged{blacklisted}"
    )


@queue_command.command("counts")
@_OF_CRAWL
@option.JSON
@click.pass_obj
def print_counts(settings: Settings, crawl: str, as_json: bool) -> None:
    """Count the URLs of the queue by their state."""
    with opened_archive(settings) as archive:
        counts, undelivered = archive.queue_counts(crawl)
    found = asdict(counts)
    if as_json:
        print_json(found | {"outbox": undelivered})
        return
    click.echo(", ".join(f"{number:,} {state}" for state, number in found.items()))
    for queue, number in undelivered.items():
        click.echo(f"{counted(number, 'update')} for {clean(queue)} not delivered yet")


@queue_command.command()
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@option.string("--queue-token", "TEXT", "Token of the queues there.  [NWX_QUEUE_TOKEN]")
@option.JSON
@click.pass_obj
def deliver(
    settings: Settings, addresses: tuple[str, ...], queue_token: str, as_json: bool
) -> None:
    """Send the updates waiting in the outbox to their queues.

    Steering does so while it runs; this sends the rest, to the queues at these addresses or
    to all. An unreachable queue is retried until Ctrl-C.
    """
    with opened_archive(settings) as archive, suppress(KeyboardInterrupt):
        for address, report in archive.deliver(addresses, queue_token, lambda one: warn(str(one))):
            if as_json:
                print_json({"queue": address, **asdict(report)})
            else:
                click.echo(
                    f"{counted(report.delivered, 'update')} delivered to {clean(address)}, "
                    f"{report.refused:,} refused"
                )


@queue_command.command("export")
@option.string("--crawl", "NAME", "Only of this crawl.  [default: all]")
@option.choice_of("--format", _FORMS, "Format that the crawler reads.", into="form", default="urls")
@option.count("--limit", "N", "Maximum number of URLs.  [default: 1000; all blacklisted ones]")
@option.value(
    "--min-priority",
    option.Number(0, 1),
    "P",
    "Only URLs with this priority or a higher one.",
    default=0.0,
)
@option.flag("--take", "Mark them as fetched, so that the next export has others.")
@click.pass_obj
def export_urls(
    settings: Settings, crawl: str, form: str, limit: int | None, min_priority: float, take: bool
) -> None:
    """Print waiting URLs as a seed file, the most relevant first.

    Formats: urls (one per line, for wget and others), browsertrix and brozzler (YAML: each
    page alone, without following links), heritrix-schedule (for the action directory),
    heritrix-include (the blacklisted URLs, which Heritrix then never fetches).
    """
    with opened_archive(settings) as archive:
        for line in archive.export_queue(crawl, form, limit, min_priority, take=take):
            click.echo(line)


@click.command("due")
@option.string(
    "--since", "SPAN|DATE", "URLs not captured for this time (12h, 30d, 8w, 1y), or since a date."
)
@option.string(
    "--spec",
    "NAME",
    "Use intervals, rules and collection of this crawl specification: a name or a file.",
    into="spec",
)
@option.string("--collection", "NAME", "Only of this collection.")
@option.string("--at", "DATE", "URLs due at this date.  [default: now]")
@option.above_zero("--shortest", "DAYS", "The shortest interval that is estimated.", default=1.0)
@option.above_zero("--longest", "DAYS", "The longest interval that is estimated.", default=365.0)
@option.count("--limit", "N", "Maximum number of URLs.")
@option.flag("--queue", "Add them to the crawler's queue.", into="into_queue")
@option.flag("--json", "Print a JSON object per URL.", into="as_json")
@option.QUIET
@click.pass_obj
def due_command(
    settings: Settings, /, into_queue: bool, as_json: bool, quiet: bool, **asked: Any
) -> None:
    """List URLs that are due to be captured again, most overdue first.

    A URL is due when its newest capture is older than its interval: --since, or that of the
    specification, or else the time between two changes, estimated from its captures.
    --queue adds the URLs to the queue of the archive, or to the outbox for the queue of the
    specification.
    """

    def show(one: "DueUrl") -> None:
        if as_json or not into_queue:
            click.echo(_json(one) if as_json else _due_line(one))

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
    """Print the number of URLs that were not put into a queue."""
    if urls:
        were = "was" if urls == 1 else "were"
        warn(f"{counted(urls, 'URL')} that cannot be queued {were} left out")


def _due_line(due: "DueUrl") -> str:
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
