"""nwx links and nwx invert-links"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.output import clean, counted, date_words, json_text, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.model import Anchor, Inlink, LinkCell, LinkCounts
from nwx.settings import Settings
from nwx.values.csv_cells import csv_line

if TYPE_CHECKING:
    from nwx.engine.base import Engine
    from nwx.links.archive_links import ArchiveLinks
    from nwx.links.build import InlinkBuildReport
    from nwx.links.outlinks import AskedPlace, PageOutlink

_ANCHORS_SHOWN = 10
_IN_COLUMNS = ("url", "timestamp", "kind", "text", "target")
_OUT_COLUMNS = ("page", "timestamp", "url", "kind", "text", "captured")


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    place: str
    direction: str
    year: int | None
    collection: str
    limit: int | None
    as_csv: bool
    as_json: bool


@click.command("links")
@click.argument("place", metavar="URL|HOST")
@click.option(
    "--in", "direction", flag_value="in", default=True, help="Links to the URL or host (default)."
)
@click.option("--out", "direction", flag_value="out", help="Links of its newest capture.")
@click.option("--year", type=click.IntRange(0, 9999), metavar="YYYY", help="Of this year only.")
@click.option("--collection", default="", metavar="NAME", help="Of this collection only.")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="List so many links at most.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the list as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def links_command(settings: Settings, /, **given: Any) -> None:
    """Show who links to a URL or host, or what it links to.

    Links to a URL are counted by distinct linking pages other than itself, as
    `nwx invert-links` found them last; the URL itself need not have been
    captured. A host without path stands for all its URLs, and then only links
    from and to other hosts count. --out tells which of the linked URLs were
    captured.
    """
    asked = _Options(**given)
    if asked.as_csv and asked.as_json:
        raise UsageError("--csv and --json exclude each other")
    # Here and not above: what reads links takes a while to load.
    from nwx.links.outlinks import asked_place

    place = asked_place(asked.place)
    cell = LinkCell(asked.year, asked.collection)
    with open_for_reading(settings) as engine:
        if asked.direction == "out":
            _print_outlinks(engine, place, cell, asked)
        else:
            _print_inlinks(engine, place, cell, asked)


def _print_inlinks(engine: "Engine", place: "AskedPlace", cell: LinkCell, asked: _Options) -> None:
    from nwx.links.archive_links import ArchiveLinks

    links = ArchiveLinks(engine)
    if not links.is_current():
        click.echo(
            "nwx: the archive changed since links were last inverted;"
            " run `nwx invert-links` to bring them up to date",
            err=True,
        )
    rows = islice(_rows(links, place, cell), asked.limit)
    if asked.as_csv:
        click.echo(csv_line(_IN_COLUMNS, ""))
        for target, one in rows:
            cells = (one.url, one.timestamp, one.kind, one.text, target)
            click.echo(csv_line(cells, ""))
        return
    counts, anchors = _counts(links, place, cell)
    if asked.as_json:
        _write_json(asked.place, counts, anchors, (one for _, one in rows))
    else:
        _write_words(asked.place, counts, anchors, rows)


def _rows(
    links: "ArchiveLinks", place: "AskedPlace", cell: LinkCell
) -> Iterator[tuple[str, Inlink]]:
    if place.is_host:
        yield from links.of_host(place.host).inlinks(cell)
    else:
        for one in links.inlinks(place.urlkey, cell):
            yield place.urlkey, one


def _counts(
    links: "ArchiveLinks", place: "AskedPlace", cell: LinkCell
) -> tuple[LinkCounts, tuple[Anchor, ...]]:
    if place.is_host:
        counts = links.of_host(place.host).counts(cell)
        return counts, counts.anchors
    counts = links.counts(place.urlkey, cell) or LinkCounts()
    return counts, links.anchors(place.urlkey, cell)


def _write_json(
    place: str, counts: LinkCounts, anchors: Iterable[Anchor], rows: Iterable[Inlink]
) -> None:
    """Write one object, its list link by link: there may be millions."""
    head = {
        "url": place,
        "documents": counts.documents,
        "hosts": counts.hosts,
        "domains": counts.domains,
        "first": counts.first,
        "last": counts.last,
        "anchors": [{"text": one.text, "count": one.documents} for one in anchors],
    }
    click.echo(f'{json_text(head)[:-1]}, "from": [', nl=False)
    separator = "\n"
    for one in rows:
        row = {"url": one.url, "timestamp": one.timestamp, "kind": one.kind, "text": one.text}
        click.echo(f"{separator}{json_text(row)}", nl=False)
        separator = ",\n"
    click.echo("]}")


def _write_words(
    place: str, counts: LinkCounts, anchors: Iterable[Anchor], rows: Iterable[tuple[str, Inlink]]
) -> None:
    if counts.documents:
        sites = f"{counted(counts.hosts, 'host')}, {counted(counts.domains, 'domain')}"
        click.echo(
            f"{clean(place)}: linked from {counted(counts.documents, 'page')} on {sites},"
            f" {date_words(counts.first)} to {date_words(counts.last)}"
        )
        kinds = (f"{name} {count:,}" for name, count in counts.kinds.items())
        click.echo(f"kinds: {', '.join(kinds)}")
    else:
        click.echo(f"{clean(place)}: no page links to it")
    for one in islice(anchors, _ANCHORS_SHOWN):
        click.echo(f"{one.documents:>10,}  {clean(one.text)}")
    for _, link in rows:
        text = f"  {clean(link.text)}" if link.text else ""
        click.echo(f"{date_words(link.timestamp)} {link.kind:10} {clean(link.url)}{text}")


def _print_outlinks(engine: "Engine", place: "AskedPlace", cell: LinkCell, asked: _Options) -> None:
    from nwx.links.outlinks import outlinks_of

    rows = islice(outlinks_of(engine, place, cell), asked.limit)
    if asked.as_json:
        _write_outlinks_json(asked.place, rows)
        return
    if asked.as_csv:
        click.echo(csv_line(_OUT_COLUMNS, ""))
    page = ""
    for one in rows:
        if asked.as_csv:
            cells = (one.page, one.timestamp, one.url, one.kind, one.text, one.captured)
            click.echo(csv_line(cells, ""))
            continue
        if one.page != page:
            page = one.page
            click.echo(f"{clean(page)} of {date_words(one.timestamp)}")
        mark = "captured" if one.captured else "missing "
        click.echo(f"  {mark} {one.kind:10} {clean(one.url)}  {clean(one.text)}".rstrip())


def _write_outlinks_json(place: str, rows: "Iterable[PageOutlink]") -> None:
    click.echo(f'{json_text({"url": place})[:-1]}, "to": [', nl=False)
    separator = "\n"
    for one in rows:
        row = {
            "page": one.page,
            "timestamp": one.timestamp,
            "url": one.url,
            "kind": one.kind,
            "text": one.text,
            "captured": one.captured,
        }
        click.echo(f"{separator}{json_text(row)}", nl=False)
        separator = ",\n"
    click.echo("]}")


@click.command("invert-links")
@click.option("--anew", is_flag=True, help="Read all documents again, not only those that changed.")
@click.option(
    "--from",
    "from_folder",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Load what `nwx spark links` inverted, and read only documents that it lacks.",
)
@click.option(
    "--workers", type=click.IntRange(1), metavar="N", help="Number of processes (default: CPUs)."
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
@click.pass_obj
def invert_links_command(
    settings: Settings,
    anew: bool,
    from_folder: Path | None,
    workers: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build the index of inlinks: who links to a URL, and with which words.

    Counts the links of all documents by linked URL, year and collection. Only
    documents that are new, or were captured again since the last run, are
    read. Questions are answered from the previous index until this one is
    complete. If interrupted, run the same command again to resume. With --from,
    links are loaded of all documents that the archive made from the same
    captures; the index is the same as without.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import open_engine
    from nwx.links.build import InlinkBuildOptions, invert_links
    from nwx.links.inverted import InvertedLinks

    inverted = None if from_folder is None else InvertedLinks(from_folder)
    options = InlinkBuildOptions(workers=workers, anew=anew, inverted=inverted)
    reopen = partial(open_engine, settings, read_only=True)
    with open_engine(settings, read_only=True) as engine, progress_bar(quiet=quiet) as show:
        report = invert_links(engine, reopen, options, show)
    if as_json:
        print_json(_report_json(report))
    elif not quiet:
        refused = f", {counted(report.refused, 'link')} without urlkey" if report.refused else ""
        loaded = f"{report.loaded:,} loaded, " if from_folder is not None else ""
        click.echo(
            f"{counted(report.links, 'link')} of {counted(report.documents, 'document')}"
            f" ({loaded}{report.read:,} read) to {counted(report.targets, 'URL')}{refused},"
            f" {size_words(report.bytes)} in {report.seconds:.1f} s"
        )


def _report_json(report: "InlinkBuildReport") -> dict[str, float]:
    return {
        "documents": report.documents,
        "read": report.read,
        "loaded": report.loaded,
        "links": report.links,
        "refused": report.refused,
        "targets": report.targets,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
    }
