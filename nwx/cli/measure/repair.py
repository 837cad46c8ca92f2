"""nwx repair"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, json_text, warn
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.urls import EMBEDDED, KINDS

if TYPE_CHECKING:
    from nwx.engine.base import Engine
    from nwx.quality.missing_resources import RepairQuestion
    from nwx.quality.repair_list import Repair, RepairCounts


_RESOURCES = tuple(kind for kind in KINDS if kind in EMBEDDED)
_SEED_FORMS = ("urls", "browsertrix", "brozzler", "heritrix-schedule")
_OWN_QUEUE = "the archive's"
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    kinds: tuple[str, ...]
    site: str
    host: str
    collection: str
    date_from: str
    date_to: str
    limit: int | None
    seeds: str | None
    queue: str | None
    crawl: str
    as_csv: bool
    as_json: bool


@click.command("repair")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(_RESOURCES),
    metavar="KIND",
    help=f"Only resources of this kind: {', '.join(_RESOURCES)}; may be repeated.",
)
@option.string("--site", "HOST", "Mend pages of this host, or of one below it.")
@option.string("--host", "HOST", "Only resources on this host, or on one below it.")
@option.string("--collection", "NAME", "Mend pages of this collection.")
@option.string("--from", "DATE", "Mend pages captured from then on.", into="date_from")
@option.string("--to", "DATE", "Mend pages captured until then.", into="date_to")
@option.count("--limit", "N", "So many resources at most.")
@click.option(
    "--seeds",
    type=click.Choice(_SEED_FORMS),
    is_flag=False,
    flag_value=_SEED_FORMS[0],
    metavar="[FORM]",
    help="Print a seed file: urls (one a line: wget, Heritrix's seeds), browsertrix, brozzler"
    " or heritrix-schedule.  [FORM: urls]",
)
@click.option(
    "--queue",
    is_flag=False,
    flag_value=_OWN_QUEUE,
    metavar="[ADDRESS]",
    help="Put them into the crawler's queue: the archive's own, that of --crawl, or another.",
)
@option.string("--crawl", "NAME", "With --queue: the name of the crawl.")
@option.CSV
@option.JSON
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> None:
    """List the missing resources that mend most pages when captured again.

    Missing is what `nwx check-playback` found missing, and what captured pages
    embed (`nwx missing --kind embedded`), unless it was captured since. The first
    resource mends most pages, the second most with it, and so on: a page that
    lacks several things counts for each of them in part. `whole` tells how many
    pages lack nothing more once a resource and those before it are captured. In
    a pipe or a file, the list has one URL a line, for a crawler.
    """
    asked = _Options(**given)
    if sum((asked.as_csv, asked.as_json, asked.seeds is not None, asked.queue is not None)) > 1:
        raise UsageError("--seeds, --queue, --csv and --json exclude each other")
    if asked.crawl and asked.queue is None:
        raise UsageError("--crawl needs --queue")
    # Here and not above: what counts pages takes a while to load.
    from nwx.quality.repair_list import RepairList

    with open_for_reading(settings, writes=asked.queue is not None) as engine:
        found = RepairList(engine, _question(asked))
        _print_notes(found.counts(), is_current=found.is_current())
        repairs = islice(found.repairs(), asked.limit)
        if asked.queue is not None:
            _put(engine, asked, found.counts(), repairs)
        else:
            _print(asked, found.counts(), repairs)


def _question(asked: _Options) -> "RepairQuestion":
    from nwx.links.missing_urls import asked_pages
    from nwx.quality.missing_resources import RepairQuestion

    pages = asked_pages(asked.site, asked.collection, asked.date_from, asked.date_to)
    return RepairQuestion(pages, frozenset(asked.kinds) or EMBEDDED, asked.host)


def _print_notes(counts: "RepairCounts", *, is_current: bool) -> None:
    """Say what the list does not know of."""
    notes = []
    if not counts.linked:
        notes.append("links were never inverted: only checks count; see `nwx invert-links`")
    elif not is_current:
        notes.append("documents changed since the last `nwx invert-links`")
    if not counts.checked:
        notes.append("no such page was checked: only links count; see `nwx check-playback`")
    if counts.left_out:
        notes.append(f"not listed: {counts.left_out:,} missing; pages that lack them stay broken")
    if counts.unseen:
        notes.append(f"needed by fewest pages and not looked up: {counts.unseen:,}")
    for note in notes:
        warn(note)


def _print(asked: _Options, counts: "RepairCounts", repairs: "Iterator[Repair]") -> None:
    if asked.as_json:
        from nwx.quality.repair_list import json_of_repairs

        for piece in json_of_repairs(counts, repairs, json_text):
            click.echo(piece, nl=False)
    elif asked.as_csv:
        from nwx.quality.repair_list import csv_of_repairs

        for line in csv_of_repairs(repairs):
            click.echo(clean(line.rstrip()))
    elif asked.seeds is not None:
        _write_seeds(asked.seeds, repairs)
    elif sys.stdout.isatty():
        from nwx.cli.measure.tables import print_page_repairs

        print_page_repairs(repairs, counts, asked.limit)
    else:
        for one in repairs:
            click.echo(clean(one.url))


def _write_seeds(form: str, repairs: "Iterable[Repair]") -> None:
    from nwx.engine.indices.crawl_queue import QueuedUrl
    from nwx.steering.adapters.heritrix_job import SeedForm, seed_file
    from nwx.steering.queue.protocol import queue_url

    urls = (QueuedUrl(url, "", 0.0) for one in repairs if (url := queue_url(one.url)))
    for line in seed_file(urls, SeedForm(form), "repair"):
        click.echo(line)


def _put(
    engine: "Engine", asked: _Options, counts: "RepairCounts", repairs: "Iterator[Repair]"
) -> None:
    """Put resources into the queue, or into the outbox where that is elsewhere."""
    from nwx.engine.indices.crawl_queue import UrlUpdate
    from nwx.steering.queue.client import queue_address
    from nwx.steering.queue.protocol import check_queue_name, queue_url

    check_queue_name("crawl", asked.crawl)
    address = _address(engine, asked)
    queue = queue_address(address) if address else ""
    listed = min(asked.limit or counts.resources, counts.resources) or 1
    put = left_out = 0
    while some := list(islice(repairs, _AT_ONCE)):
        updates = []
        for place, one in enumerate(some, start=put + left_out):
            if url := queue_url(one.url):
                priority = round(1 - place / (2 * listed), 6)
                updates.append(UrlUpdate(url, priority, crawl=asked.crawl, again=True))
        if queue:
            engine.outbox().add(updates, queue)
        else:
            engine.crawl_queue().put(updates)
        put += len(updates)
        left_out += len(some) - len(updates)
    if left_out:
        were = "was" if left_out == 1 else "were"
        warn(f"{counted(left_out, 'URL')} that no queue takes {were} left out")
    waits = "waits" if put == 1 else "wait"
    where = f"{waits} for {clean(queue)} in the outbox; `nwx queue deliver` sends what is there"
    click.echo(f"{counted(put, 'URL')} {where if queue else 'put into the queue'}", err=True)


def _address(engine: "Engine", asked: _Options) -> str:
    """Return the address of the queue that is asked for, "" for that of the archive."""
    if asked.queue != _OWN_QUEUE:
        return asked.queue or ""
    from nwx.steering.specifications.specification_store import specification_of

    stored = engine.crawl_index().specification(asked.crawl) if asked.crawl else None
    return specification_of(stored).queue if stored else ""
