"""nwx queue"""

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
from nwx.cli.output import clean, counted, json_text, print_json, warn
from nwx.cli.restricted import opened_archive
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.queue.queue_work import QueuedUrl


_FORMS = ("urls", "browsertrix", "brozzler", "heritrix-schedule", "heritrix-include")
_OF_CRAWL = option.string("--crawl", "NAME", "Only of this crawl.  [default: all crawls]")
_URLS = option.option_set(
    click.argument("urls", nargs=-1, metavar="[URL]..."),
    option.string(
        "--file", "FILE", "Also the URLs in FILE, one a line; - for standard input.", default=None
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
    "--pages-per-host", "N", "URLs leased of a host in a crawl whose specification says nothing."
)
@TRUSTED_PROXIES
@PROTECTION
@click.pass_context
def command(
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
        raise UsageError("the queue is used with a token; set NWX_QUEUE_TOKEN or --queue-token")

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


@command.command("list")
@_OF_CRAWL
@option.string("--host", "HOST", "Only of this host.")
@option.choice_of("--state", ["waiting", "leased", "done", "blacklisted"], "Only of this state.")
@option.count("--limit", "N", "List so many URLs at most.")
@option.JSON
@click.pass_obj
def list_urls(
    settings: Settings, crawl: str, host: str, state: str | None, limit: int | None, as_json: bool
) -> None:
    """List the URLs of the queue in the order they came in.

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


@command.command("add")
@_URLS
@option.value(
    "--priority",
    click.FloatRange(0, 1),
    None,
    "From 0 to 1; the highest is fetched first.",
    default=0.5,
)
@option.string("--via", "URL", "The page that links to them.")
@option.flag("--again", "Fetch those again that were fetched.")
@option.JSON
@click.pass_obj
def add_urls(settings: Settings, /, **given: Any) -> None:
    """Add URLs, or change their priority.

    URLs that are blacklisted stay so.
    """
    _put(settings, **given)


@command.command()
@_URLS
@option.JSON
@click.pass_obj
def blacklist(settings: Settings, /, **given: Any) -> None:
    """Blacklist URLs.

    They are not fetched, whatever is said of them later, unless they are lifted.
    """
    _put(settings, priority=None, **given)


@command.command()
@_URLS
@option.JSON
@click.pass_obj
def lift(settings: Settings, /, **given: Any) -> None:
    """Lift the blacklisting of URLs.

    They have the priority again that they had.
    """
    _put(settings, priority=None, lifted=True, **given)


def _given(urls: Sequence[str], file: str | None) -> Iterator[str]:
    """Give the URLs of a command, and those of a file."""
    if not urls and not file:
        raise UsageError("there are no URLs; name some, or a file of them with --file")
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


@command.command("counts")
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


@command.command()
@click.argument("addresses", nargs=-1, metavar="[ADDRESS]...")
@option.string("--queue-token", "TEXT", "Token of the queues there.  [NWX_QUEUE_TOKEN]")
@option.JSON
@click.pass_obj
def deliver(
    settings: Settings, addresses: tuple[str, ...], queue_token: str, as_json: bool
) -> None:
    """Send what waits in the outbox to its queues.

    Steering does so while it runs; this sends what it left behind, to the
    queues at these addresses or to all. A queue that is away is tried again
    until Ctrl-C.
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


@command.command("export")
@option.string("--crawl", "NAME", "Only of this crawl.  [default: all]")
@option.choice_of("--format", _FORMS, "What the crawler reads.", into="form", default="urls")
@option.count("--limit", "N", "Number of URLs at most.", default=1000)
@option.value(
    "--min-priority",
    click.FloatRange(0, 1),
    "P",
    "Only URLs with this priority or a higher one.",
    default=0.0,
)
@option.flag("--take", "Note them as fetched: the next export has others.")
@click.pass_obj
def export_urls(
    settings: Settings, crawl: str, form: str, limit: int, min_priority: float, take: bool
) -> None:
    """Print waiting URLs as a seed file, the most relevant first.

    Formats: urls (one per line, for wget and others), browsertrix and brozzler
    (YAML: each page alone, no links are followed), heritrix-schedule (for the
    action directory), heritrix-include (the blacklisted URLs, which Heritrix
    then never fetches).
    """
    with opened_archive(settings) as archive:
        for line in archive.export_queue(crawl, form, limit, min_priority, take=take):
            click.echo(line)
