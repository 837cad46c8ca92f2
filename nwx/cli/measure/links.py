"""nwx links and nwx invert-links"""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from nwx.cli import option
from nwx.cli.output import (
    check_one_form,
    clean,
    counted,
    date_words,
    opened_archive,
    print_csv,
    print_json,
    print_object,
    progress_bar,
    size_words,
    span_words,
    warn,
)
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.answers.count_tables import Inlinks
    from nwx.answers.tables import Rows
    from nwx.links.archive_links import PageOutlink
    from nwx.links.build import InlinkBuildReport

_ANCHORS_SHOWN = 10
_IN_COLUMNS = ("url", "timestamp", "kind", "text", "target")


@click.command("links")
@click.argument("place", metavar="URL|HOST")
@click.option(
    "--in", "direction", flag_value="in", default=True, help="Links to the URL or host (default)."
)
@click.option("--out", "direction", flag_value="out", help="Links of its newest capture.")
@option.value("--year", click.IntRange(0, 9999), "YYYY", "Only of this year.")
@option.string("--collection", "NAME", "Only of this collection.")
@option.count("--limit", "N", "List at most N links.")
@option.CSV
@option.JSON
@click.pass_obj
def links_command(
    settings: Settings,
    /,
    place: str,
    direction: str,
    as_csv: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Show who links to a URL or host, or what it links to.

    Links to a URL are counted by distinct linking pages other than itself, as last indexed
    by `nwx invert-links`; the URL itself need not have been captured. A host without path
    stands for all its URLs, and then only links from and to other hosts count. --out shows
    which of the linked URLs were captured.
    """
    check_one_form(csv=as_csv, json=as_json)
    with opened_archive(settings) as archive:
        if direction == "out":
            _print_outlinks(place, archive.outlinks(place, **given), as_csv, as_json)
        else:
            _print_inlinks(place, archive.links(place, **given), as_csv, as_json)


def _print_inlinks(place: str, links: "Inlinks", as_csv: bool, as_json: bool) -> None:
    if not links.is_current:
        warn(
            "the archive changed since links were last inverted;"
            " run `nwx invert-links` to bring them up to date"
        )
    if as_csv:
        print_csv(_IN_COLUMNS, links)
    elif as_json:
        rows = ({name: getattr(one, name) for name in _IN_COLUMNS[:-1]} for one in links)
        print_object(_counts_json(place, links), "from", rows)
    else:
        _write_words(place, links)


def _counts_json(place: str, links: "Inlinks") -> dict[str, Any]:
    counts = links.counts
    return {
        "url": place,
        "documents": counts.documents,
        "hosts": counts.hosts,
        "domains": counts.domains,
        "first": counts.first,
        "last": counts.last,
        "anchors": [{"text": one.text, "count": one.documents} for one in links.anchors],
    }


def _write_words(place: str, links: "Inlinks") -> None:
    counts = links.counts
    if counts.documents:
        sites = f"{counted(counts.hosts, 'host')}, {counted(counts.domains, 'domain')}"
        click.echo(
            f"{clean(place)}: linked from {counted(counts.documents, 'page')} on {sites},"
            f" {span_words(counts.first, counts.last)}"
        )
        kinds = (f"{name} {count:,}" for name, count in counts.kinds.items())
        click.echo(f"kinds: {', '.join(kinds)}")
    else:
        click.echo(f"{clean(place)}: no page links to it")
    for one in links.anchors[:_ANCHORS_SHOWN]:
        click.echo(f"{one.documents:>10,}  {clean(one.text)}")
    for link in links:
        text = f"  {clean(link.text)}" if link.text else ""
        click.echo(f"{date_words(link.timestamp)} {link.kind:10} {clean(link.url)}{text}")


def _print_outlinks(place: str, links: "Rows[PageOutlink]", as_csv: bool, as_json: bool) -> None:
    if as_json:
        print_object({"url": place}, "to", map(asdict, links))
        return
    if as_csv:
        print_csv(links.columns, map(links.cells, links))
        return
    page = ""
    for one in links:
        if one.page != page:
            page = one.page
            click.echo(f"{clean(page)} of {date_words(one.timestamp)}")
        mark = "captured" if one.captured else "missing "
        click.echo(f"  {mark} {one.kind:10} {clean(one.url)}  {clean(one.text)}".rstrip())
    if not page:
        click.echo(f"{clean(place)}: no outlinks were captured")


@click.command("invert-links")
@option.flag("--anew", "Read all documents again, not only those that changed.")
@option.value(
    "--from",
    option.PLACE,
    "FOLDER",
    "Load the output of `nwx spark links`, and read only documents missing there.",
    into="from_folder",
)
@option.count("--workers", "N", "Number of processes (default: CPUs).")
@option.JSON_REPORT
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

    Counts the links of all documents by linked URL, year and collection. Only documents
    that are new, or were captured again since the last run, are read. Queries are answered
    from the previous index until this one is complete. If interrupted, run the same command
    again to resume. With --from, links are loaded for all documents made from the same
    captures; the resulting index is the same.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as show:
        built = archive.build(
            "links", anew=anew, workers=workers, inverted=from_folder, progress=show
        )
    report = cast("InlinkBuildReport", built["links"])
    if as_json:
        print_json(links_json(report))
    elif not quiet:
        click.echo(links_words(report, loads=from_folder is not None))


def links_words(report: "InlinkBuildReport", *, loads: bool = False) -> str:
    """Return the report of a build as one line of text."""
    refused = f", {counted(report.refused, 'link')} without urlkey" if report.refused else ""
    loaded = f"{report.loaded:,} loaded, " if loads else ""
    return (
        f"{counted(report.links, 'link')} of {counted(report.documents, 'document')}"
        f" ({loaded}{report.read:,} read) to {counted(report.targets, 'URL')}{refused},"
        f" {size_words(report.bytes)} in {report.seconds:.1f} s"
    )


def links_json(report: "InlinkBuildReport") -> dict[str, float]:
    """Return the report of a build as JSON values."""
    return asdict(report) | {"seconds": round(report.seconds, 3)}
