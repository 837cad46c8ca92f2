"""nwx wacz"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.options import date_options
from nwx.cli.output import (
    clean,
    counted,
    opened_archive,
    print_errors,
    print_json,
    progress_bar,
    size_words,
)
from nwx.errors import SourceError, UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings
from nwx.values.timestamps import date_bound

if TYPE_CHECKING:
    from nwx.exports import PackReport


@click.command("wacz")
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("query", nargs=-1)
@option.string(
    "--urls", "FILE", "Pack the captures of the URLs in FILE, one per line.", default=None
)
@option.count("--limit", "N", "Pack the captures of the N best documents of QUERY.")
@option.repeated("--collection", "NAME", "Only captures of this collection.")
@date_options
@option.string("--title", "TEXT", "Title of the WACZ.")
@option.string("--description", "TEXT", "Description of the WACZ.")
@click.option("--text/--no-text", default=True, help="Include the text of the pages (default).")
@option.flag(
    "--with-resources",
    "Include the resources of pages: images, style sheets, scripts, frames.",
)
@click.option(
    "--with-originals/--without-originals",
    default=True,
    help="Include the originals of revisits (default), or name the files that hold them.",
)
@option.JSON_REPORT
@click.pass_obj
def command(
    settings: Settings,
    /,
    out: Path,
    query: tuple[str, ...],
    urls: str | None,
    limit: int | None,
    collection: tuple[str, ...],
    from_: str,
    to: str,
    with_resources: bool,
    with_originals: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Pack a selection of captures into a WACZ file.

    The selection is the captures of the documents found by QUERY and of the URLs in --urls;
    without both, all captures. The originals of revisits are included. --with-resources
    adds the captures that its pages load, nearest in time, of any collection and date.
    Files needed to play revisits are named in `relation.requires`. The WACZ file OUT holds
    the records in WARC files, their index, and a list of pages with titles and text.
    Captures whose record is not available are counted and reported. The exit code is 1 if
    nothing was packed.
    """
    from nwx.exports import PackOptions, WaczSelection

    if out.suffix.lower() != ".wacz" and (out.is_file() or not out.exists()):
        raise UsageError(f"{out} does not end in .wacz, by which readers know a WACZ file")
    if limit and not query:
        raise UsageError("--limit needs a QUERY, such as '*'")
    selection = WaczSelection(
        query=" ".join(query),
        limit=limit,
        urls=_urls(urls) if urls is not None else (),
        collections=collection,
        date_from=date_bound(from_, 0),
        date_to=date_bound(to, 1),
        with_resources=with_resources,
        with_originals=with_originals,
    )
    if urls is not None and not selection.urls:
        raise UsageError(f"{urls} has no URLs")
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        report = archive.export_wacz(out, selection, PackOptions(**given), progress)
    _print(report, as_json=as_json, quiet=quiet)
    return 0


def _urls(file: str) -> tuple[str, ...]:
    try:
        if file == STANDARD_INPUT:
            text = sys.stdin.read()
        else:
            text = Path(file).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        raise SourceError(f"{file} cannot be read: {error.strerror}") from error
    lines = (line.strip() for line in text.splitlines())
    return tuple(dict.fromkeys(line for line in lines if line and not line.startswith("#")))


def _print(report: "PackReport", *, as_json: bool, quiet: bool) -> None:
    print_errors(report.errors, len(report.errors))
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        missing = f", {report.missing:,} missing" if report.missing else ""
        click.echo(
            f"{counted(report.captures, 'capture')} of {counted(report.files, 'file')} and "
            f"{counted(report.pages, 'page')},"
            f" {size_words(report.bytes)}{missing}"
        )
        if report.requires:
            click.echo(f"requires {', '.join(map(clean, report.requires))}")
