"""nwx wacz"""

import sys
from dataclasses import asdict
from pathlib import Path

import click

from nwx.cli.list_commands import step_bar
from nwx.cli.output import clean, print_json, size_words
from nwx.engine.open import open_engine
from nwx.errors import SourceError, TimestampError, UsageError
from nwx.exports import PackOptions, PackReport, WaczSelection, pack
from nwx.query.dates import date_span
from nwx.settings import Settings
from nwx.warc.sources import STANDARD_INPUT

_ERRORS_SHOWN = 20


@click.command("wacz")
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("query", nargs=-1)
@click.option("--urls", metavar="FILE", help="Pack the captures of these URLs, one a line.")
@click.option("--collection", multiple=True, metavar="NAME", help="Of this collection only.")
@click.option("--from", "date_from", default="", metavar="DATE", help="Captured then or later.")
@click.option("--to", "date_to", default="", metavar="DATE", help="Captured then or before.")
@click.option("--title", default="", metavar="TEXT", help="The title of the WACZ.")
@click.option("--description", default="", metavar="TEXT", help="What is in it.")
@click.option("--text/--no-text", default=True, help="With the texts of the pages (the default).")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show neither progress nor counts, only errors.")
@click.pass_obj
def command(
    settings: Settings,
    out: Path,
    query: tuple[str, ...],
    urls: str | None,
    collection: tuple[str, ...],
    date_from: str,
    date_to: str,
    title: str,
    description: str,
    text: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Pack a selection of the archive into the WACZ file OUT.

    Packed are the captures of the documents that QUERY finds, and of the
    URLs of --urls; without both, all captures. Revisits bring the captures
    that they repeat. The WACZ has the records in WARC files, their index,
    and a list of the pages with titles and texts. Captures whose record
    cannot be had are counted and told. The exit code is 1 when nothing
    could be packed.
    """
    selection = WaczSelection(
        query=" ".join(query),
        urls=_urls(urls) if urls is not None else (),
        collections=collection,
        date_from=_bound(date_from, 0),
        date_to=_bound(date_to, 1),
    )
    if urls is not None and not selection.urls:
        raise UsageError(f"{urls} has no URLs")
    options = PackOptions(title, description, text)
    with open_engine(settings, read_only=True) as engine, step_bar(quiet=quiet) as progress:
        report = pack(engine, selection, out, options, progress)
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


def _bound(date: str, end: int) -> str:
    try:
        return date_span(date)[end] if date else ""
    except TimestampError as error:
        raise UsageError(str(error)) from error


def _print(report: PackReport, *, as_json: bool, quiet: bool) -> None:
    for error in report.errors[:_ERRORS_SHOWN]:
        place = "" if error.offset is None else f" at {error.offset}"
        click.echo(clean(f"nwx: {error.file}{place}: {error.message} ({error.kind})"), err=True)
    if len(report.errors) > _ERRORS_SHOWN:
        click.echo(f"nwx: … and {len(report.errors) - _ERRORS_SHOWN:,} more errors", err=True)
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        missing = f", {report.missing:,} missing" if report.missing else ""
        click.echo(
            f"{report.captures:,} captures of {report.files:,} files and {report.pages:,} pages,"
            f" {size_words(report.bytes)}{missing}"
        )
