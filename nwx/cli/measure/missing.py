"""nwx missing"""

import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.output import clean, json_text
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.settings import Settings
from nwx.values.csv_cells import csv_line
from nwx.values.urls import KINDS

if TYPE_CHECKING:
    from nwx.links.missing_urls import MissingUrl


_COLUMNS = ("url", "kind", "pages", "status")
_GROUPS = ("embedded", "pages")
_SEEDS = ("http://", "https://")


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
    as_csv: bool
    as_json: bool
    as_seeds: bool


@click.command("missing")
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice([*_GROUPS, *KINDS]),
    metavar="KIND",
    help="What counts: `embedded` (what a browser loads with a page), `pages` (what is linked), or"
    f" one of {', '.join(KINDS)}; may be repeated.  [default: embedded and pages]",
)
@click.option(
    "--site", default="", metavar="HOST", help="Needed by pages of this host, or of one below it."
)
@click.option(
    "--host", default="", metavar="HOST", help="Missing on this host, or on one below it."
)
@click.option(
    "--collection", default="", metavar="NAME", help="Needed by pages of this collection."
)
@click.option(
    "--from", "date_from", default="", metavar="DATE", help="Needed by pages captured from then on."
)
@click.option(
    "--to", "date_to", default="", metavar="DATE", help="Needed by pages captured until then."
)
@click.option("--limit", type=click.IntRange(1), metavar="N", help="So many URLs at most.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--seeds", "as_seeds", is_flag=True, help="Print the http(s) URLs alone, as seeds.")
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> None:
    """List what captured pages need and the archive lacks.

    These are the URLs that pages embed or link to, as `nwx invert-links` found
    them last, and that were never captured, or only with errors (status 400
    and higher). Those that most pages need come first; what a style sheet
    loads is needed by the pages that load the style sheet. In a pipe or a
    file, the list has one URL a line, for a crawler.
    """
    asked = _Options(**given)
    if asked.as_csv + asked.as_json + asked.as_seeds > 1:
        raise UsageError("--csv, --json and --seeds exclude each other")
    # Here and not above: what counts links takes a while to load.
    from nwx.links.archive_links import ArchiveLinks
    from nwx.links.missing_urls import asked_missing, asked_pages, missing_urls

    pages = asked_pages(asked.site, asked.collection, asked.date_from, asked.date_to)
    question = asked_missing(asked.kinds, pages, asked.host)
    with open_for_reading(settings) as engine:
        links = ArchiveLinks(engine)
        if not links.is_current():
            click.echo("nwx: documents changed since the last `nwx invert-links`", err=True)
        found = missing_urls(engine, links, question)
        if asked.as_seeds:
            found = (one for one in found if one.url.lower().startswith(_SEEDS))
        _print(islice(found, asked.limit), asked)


def _print(found: Iterable["MissingUrl"], asked: _Options) -> None:
    if asked.as_json:
        _write_json(found)
    elif asked.as_csv:
        click.echo(csv_line(_COLUMNS, ""))
        for one in found:
            cells = (clean(one.url), one.kind, one.pages, "" if one.status is None else one.status)
            click.echo(csv_line(cells, ""))
    elif sys.stdout.isatty() and not asked.as_seeds:
        from nwx.cli.measure.tables import print_missing

        print_missing(found, asked.limit)
    else:
        for one in found:
            click.echo(clean(one.url))


def _write_json(found: Iterable["MissingUrl"]) -> None:
    """Print a JSON array, a URL a line, as it comes."""
    opening = "["
    for one in found:
        click.echo(f"{opening}\n  {json_text(asdict(one))}", nl=False)
        opening = ","
    click.echo("[]" if opening == "[" else "\n]")
