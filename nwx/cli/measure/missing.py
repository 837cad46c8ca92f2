"""nwx missing and nwx repair"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.crawl.queue import warn_left_out
from nwx.cli.output import (
    check_one_form,
    clean,
    counted,
    json_text,
    opened_archive,
    print_array,
    print_csv,
    print_csv_lines,
    warn,
)
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.urls import EMBEDDED, KINDS

if TYPE_CHECKING:
    from nwx.links.missing_urls import MissingUrl
    from nwx.quality.repair_list import Repair, RepairCounts
    from nwx.steering.queue.queue_work import QueuedUpdates

_COLUMNS = ("url", "kind", "pages", "status")
_GROUPS = ("embedded", "pages")
_SEEDS = ("http://", "https://")


@click.command("missing")
@click.option(
    "--kind",
    "kind",
    multiple=True,
    type=option.HintedChoice([*_GROUPS, *KINDS]),
    metavar="KIND",
    help="Kinds to list: `embedded` (what a browser loads with a page), `pages` (what is linked),"
    f" or one of {', '.join(KINDS)}; may be repeated.  [default: embedded and pages]",
)
@option.string("--site", "HOST", "Needed by pages of this host, or of one below it.")
@option.string("--host", "HOST", "Missing on this host, or on one below it.")
@option.string("--collection", "NAME", "Needed by pages of this collection.")
@option.string("--from", "DATE", "Needed by pages captured on this date or later.", into="from_")
@option.string("--to", "DATE", "Needed by pages captured on this date or earlier.", into="to")
@option.count("--limit", "N", "Maximum number of URLs.")
@option.flag(
    "--originals", "List the originals of revisits that are not in any file, and their dates."
)
@option.CSV
@option.JSON
@option.flag("--seeds", "Print only the http(s) URLs, as seeds.", into="as_seeds")
@click.pass_obj
def missing_command(
    settings: Settings,
    /,
    *,
    originals: bool,
    as_csv: bool,
    as_json: bool,
    as_seeds: bool,
    **asked: Any,
) -> None:
    """List URLs that captured pages need and the archive lacks.

    These are URLs that pages embed or link to, as last indexed by `nwx invert-links`, and
    that were never captured, or only with errors (status 400 and higher). Those that most
    pages need come first; what a style sheet loads is needed by the pages that load the
    style sheet. In a pipe or a file, the list has one URL per line, for a crawler.
    """
    check_one_form(csv=as_csv, json=as_json, seeds=as_seeds)
    limit = asked.pop("limit")
    if originals:
        if as_seeds or any(asked.values()):
            raise UsageError("--originals can only be combined with --limit, --csv and --json")
        _print_originals(settings, limit, as_csv=as_csv, as_json=as_json)
        return
    with opened_archive(settings) as archive:
        if archive.is_built("links") and archive.is_stale("links"):
            warn("documents changed since the last `nwx invert-links`")
        found = iter(archive.missing(**asked))
        if as_seeds:
            found = (one for one in found if one.url.lower().startswith(_SEEDS))
        first = islice(found, limit)
        if as_json:
            print_array(map(asdict, first))
        elif as_csv:
            print_csv(_COLUMNS, ((one.url, one.kind, one.pages, one.status) for one in first))
        elif sys.stdout.isatty() and not as_seeds:
            _print_missing(first, limit)
        else:
            for one in first:
                click.echo(clean(one.url))


def _print_originals(settings: Settings, limit: int | None, *, as_csv: bool, as_json: bool) -> None:
    with opened_archive(settings) as archive:
        found = archive.missing_originals()
        rows = map(asdict, islice(found, limit))
        if as_json:
            print_array(rows)
        elif as_csv:
            print_csv(found.columns, (row.values() for row in rows))
        else:
            for row in rows:
                click.echo(clean("  ".join(str(value or "-") for value in row.values())))


_RESOURCES = tuple(kind for kind in KINDS if kind in EMBEDDED)
_SEED_FORMS = ("urls", "browsertrix", "brozzler", "heritrix-schedule")
_OWN_QUEUE = "the archive's"


@click.command("repair")
@click.option(
    "--kind",
    "kind",
    multiple=True,
    type=option.HintedChoice(_RESOURCES),
    metavar="KIND",
    help=f"Only resources of this kind: {', '.join(_RESOURCES)}; may be repeated.",
)
@option.string("--site", "HOST", "Repair pages of this host, or of one below it.")
@option.string("--host", "HOST", "Only resources on this host, or on one below it.")
@option.string("--collection", "NAME", "Repair pages of this collection.")
@option.string("--from", "DATE", "Repair pages captured on this date or later.", into="from_")
@option.string("--to", "DATE", "Repair pages captured on this date or earlier.")
@option.count("--limit", "N", "Maximum number of resources.")
@click.option(
    "--seeds",
    type=option.HintedChoice(_SEED_FORMS),
    is_flag=False,
    flag_value=_SEED_FORMS[0],
    metavar="[FORM]",
    help="Print a seed file: urls (one per line: wget, Heritrix's seeds), browsertrix, brozzler"
    " or heritrix-schedule.  [FORM: urls]",
)
@click.option(
    "--queue",
    is_flag=False,
    flag_value=_OWN_QUEUE,
    metavar="[ADDRESS]",
    help="Add them to the crawler's queue: the archive's own, that of --crawl, or another.",
)
@option.string("--crawl", "NAME", "With --queue: the name of the crawl.")
@option.CSV
@option.JSON
@click.pass_obj
def repair_command(
    settings: Settings,
    /,
    limit: int | None,
    seeds: str | None,
    queue: str | None,
    crawl: str,
    as_csv: bool,
    as_json: bool,
    **asked: Any,
) -> None:
    """List the missing resources whose capture repairs most pages.

    These are resources that `nwx check-playback` found missing, and that captured pages
    embed (`nwx missing --kind embedded`), unless captured since. The first resource repairs
    most pages, the second most together with the first, and so on: a page that lacks
    several resources counts partly for each. `whole` is the number of pages that are
    complete once a resource and those before it are captured. In a pipe or a file, the list
    has one URL per line, for a crawler.
    """
    if sum((as_csv, as_json, seeds is not None, queue is not None)) > 1:
        raise UsageError("--seeds, --queue, --csv and --json are mutually exclusive")
    if crawl and queue is None:
        raise UsageError("--crawl needs --queue")
    with opened_archive(settings) as archive:
        found = archive.repairs(**asked)
        counts, repairs = found.counts(), islice(found.repairs(), limit)
        _print_notes(counts, is_current=found.is_current())
        if queue is not None:
            listed = min(limit or counts.resources, counts.resources)
            address = None if queue == _OWN_QUEUE else queue
            urls = [one.url for one in repairs]
            _print_queued(archive.queue_repairs(urls, listed, crawl, address))
        elif as_json or as_csv:
            from nwx.quality.repair_list import csv_of_repairs, json_of_repairs

            given = counts, repairs, archive.repair_reviews(asked["collection"])
            if as_csv:
                print_csv_lines(csv_of_repairs(*given))
            else:
                for piece in json_of_repairs(*given, json_text):
                    click.echo(piece, nl=False)
        else:
            _print(repairs, counts, limit, seeds)


def _print_notes(counts: "RepairCounts", *, is_current: bool) -> None:
    """Print the limitations of the list."""
    notes = []
    if not counts.linked:
        notes.append("links were never inverted: only checks count; see `nwx invert-links`")
    elif not is_current:
        notes.append("documents changed since the last `nwx invert-links`")
    if not counts.checked:
        notes.append("no matching page was checked: only links count; see `nwx check-playback`")
    if counts.left_out:
        notes.append(f"not listed: {counts.left_out:,} missing; pages that lack them stay broken")
    if counts.unseen:
        notes.append(f"needed by fewest pages and not looked up: {counts.unseen:,}")
    for note in notes:
        warn(note)


def _print(
    repairs: "Iterator[Repair]",
    counts: "RepairCounts",
    limit: int | None,
    seeds: str | None,
) -> None:
    if seeds is not None:
        from nwx.steering.queue.queue_work import seed_lines

        for line in seed_lines((one.url for one in repairs), seeds, "repair"):
            click.echo(line)
    elif sys.stdout.isatty():
        _print_page_repairs(repairs, counts, limit)
    else:
        for one in repairs:
            click.echo(clean(one.url))


def _print_queued(done: "QueuedUpdates") -> None:
    warn_left_out(done.left_out)
    waits = "waits" if done.put == 1 else "wait"
    where = (
        f"{waits} for {clean(done.queue)} in the outbox; `nwx queue deliver` sends what is there"
    )
    click.echo(
        f"{counted(done.put, 'URL')} {where if done.queue else 'put into the queue'}", err=True
    )


_ROWS_SHOWN = 50


def _print_missing(found: "Iterable[MissingUrl]", limit: int | None) -> None:
    """Print missing URLs, at most `limit`, by default the first 50."""
    from nwx.cli.terminal import OneLine, console, plain_table  # help needs no rich

    rows = iter(found)
    table = plain_table(
        "pages", "kind", "status", "url", right=("pages", "status"), header_style=""
    )
    for one in islice(rows, limit or _ROWS_SHOWN):
        status = "never" if one.status is None else str(one.status)
        table.add_row(f"{one.pages:,}", one.kind, status, OneLine(one.url))
    if not table.row_count:
        click.echo("nothing is missing")
        return
    console().print(table)
    if next(rows, None):
        click.echo(f"The first {_ROWS_SHOWN}; --limit shows more, a pipe or a file gets all.")


def _print_page_repairs(
    repairs: "Iterable[Repair]", counts: "RepairCounts", limit: int | None
) -> None:
    """Print repairs, at most `limit` (default: 50), and the number of pages they complete."""
    from nwx.cli.terminal import OneLine, console, plain_table  # help needs no rich

    rows = iter(repairs)
    numbers = ("pages", "whole", "checked")
    headings = (*numbers, "kind", "status", "url", "original not in any file")
    table = plain_table(*headings, right=(*numbers, "status"), header_style="")
    whole = 0
    for one in islice(rows, limit or _ROWS_SHOWN):
        whole += one.whole
        status = "never" if one.status is None else str(one.status)
        cells = (f"{number:,}" for number in (one.pages, one.whole, one.checked))
        table.add_row(*cells, one.kind or "-", status, OneLine(one.url), OneLine(one.original))
    if not table.row_count:
        click.echo("nothing can be listed" if counts.pages else "nothing is missing")
        return
    console().print(table)
    broken = counted(counts.pages, "page")
    click.echo(f"With these captured, {whole:,} of {broken} with missing resources are complete.")
    if next(rows, None):
        click.echo(f"The first {_ROWS_SHOWN}; --limit shows more, a pipe or a file gets all.")
