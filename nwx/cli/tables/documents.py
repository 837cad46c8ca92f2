"""A document with its dates and places, and the versions of a URL."""

from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, clean_lines, date_words, print_json, size_words
from nwx.cli.tables.terminal_console import console
from nwx.model import Capture, Document
from nwx.searching.documents import Shown, UrlVersion


def print_versions(found: list[UrlVersion], *, as_json: bool) -> None:
    """Print the versions of a URL: their ids, dates and titles."""
    if as_json:
        print_json([asdict(version) for version in found])
        return
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("id", "first", "last"):
        table.add_column(heading, no_wrap=True)
    table.add_column("captures", justify="right")
    table.add_column("title", overflow="fold")
    for version in found:
        table.add_row(
            version.id,
            date_words(version.first),
            date_words(version.last),
            f"{version.captures:,}",
            Text(clean(version.title or version.url)),
        )
    console().print(table)


def print_document(shown: Shown, *, text: bool) -> None:
    """Print a document with its dates and places, with its text if `text`."""
    out = console()
    capture, extract = shown.document.capture, shown.document.extract
    out.print(Text(clean(extract.title) or "(no title)", style="bold"))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for label, value in _facts(shown.document, shown.id):
        if value:
            table.add_row(label, Text(clean(value)))
    out.print(table)
    out.print(_dates_table(shown))
    if shown.captures:
        out.print(_places_table(shown.captures))
    if text and extract.content:
        out.print(Text(f"\n{clean_lines(extract.content)}"))
    for problem in extract.problems:
        click.echo(f"nwx: {clean(capture.url)}: {clean(problem)}", err=True)


def _facts(document: Document, id: str) -> tuple[tuple[str, str], ...]:
    capture, extract = document.capture, document.extract
    return (
        ("url", capture.url),
        ("digest", capture.digest),
        ("id", id),
        ("status", "" if capture.status_code is None else str(capture.status_code)),
        ("type", capture.content_type or capture.content_type_norm),
        ("size", size_words(capture.content_length)),
        ("language", extract.content_language),
        ("redirects to", capture.redirect_to),
        ("author", extract.author),
        ("description", extract.description),
        ("links", f"{len(extract.links):,}" if extract.links else ""),
    )


def _dates_table(shown: Shown) -> Table:
    table = Table("date", "collection", box=None, padding=(1, 2, 0, 0), title=None)
    table.padding = (0, 2, 0, 0)
    for timestamp, collection in shown.dates.seen:
        table.add_row(_moment(timestamp), Text(clean(collection)))
    return table


def _places_table(captures: tuple[Capture, ...]) -> Table:
    table = Table("capture", "record", "file", "offset", box=None, padding=(0, 2, 0, 0))
    for capture in captures:
        place = Text(clean(capture.source_file), overflow="fold")
        offset = str(capture.source_file_offset)
        table.add_row(_moment(capture.timestamp), capture.record_type, place, offset)
    return table


def _moment(timestamp: str) -> str:
    return f"{date_words(timestamp)} {timestamp[8:10]}:{timestamp[10:12]}:{timestamp[12:14]}"
