"""nwx missing"""

import sys
from dataclasses import asdict
from itertools import islice
from typing import Any

import click

from nwx.cli import option
from nwx.cli.output import check_one_form, clean, print_array, print_csv, warn
from nwx.cli.restricted import opened_archive
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.urls import KINDS

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
    help="What counts: `embedded` (what a browser loads with a page), `pages` (what is linked), or"
    f" one of {', '.join(KINDS)}; may be repeated.  [default: embedded and pages]",
)
@option.string("--site", "HOST", "Needed by pages of this host, or of one below it.")
@option.string("--host", "HOST", "Missing on this host, or on one below it.")
@option.string("--collection", "NAME", "Needed by pages of this collection.")
@option.string("--from", "DATE", "Needed by pages captured from then on.", into="from_")
@option.string("--to", "DATE", "Needed by pages captured until then.", into="to")
@option.count("--limit", "N", "So many URLs at most.")
@option.flag("--originals", "List the originals of revisits that are in no file, and their dates.")
@option.CSV
@option.JSON
@option.flag("--seeds", "Print the http(s) URLs alone, as seeds.", into="as_seeds")
@click.pass_obj
def command(
    settings: Settings,
    /,
    *,
    originals: bool,
    as_csv: bool,
    as_json: bool,
    as_seeds: bool,
    **asked: Any,
) -> None:
    """List what captured pages need and the archive lacks.

    These are the URLs that pages embed or link to, as `nwx invert-links` found
    them last, and that were never captured, or only with errors (status 400
    and higher). Those that most pages need come first; what a style sheet
    loads is needed by the pages that load the style sheet. In a pipe or a
    file, the list has one URL a line, for a crawler.
    """
    check_one_form(csv=as_csv, json=as_json, seeds=as_seeds)
    limit = asked.pop("limit")
    if originals:
        if as_seeds or any(asked.values()):
            raise UsageError("--originals goes with --limit, --csv and --json only")
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
            from nwx.cli.measure.tables import print_missing

            print_missing(first, limit)
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
