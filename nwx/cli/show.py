"""nwx show"""

from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from nwx.cli.output import clean, clean_lines, console, date_words, print_json, size_words
from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.model import Capture, Document
from nwx.searching.answers import answer_to_json, document_answer
from nwx.searching.documents import Shown, UrlVersion, id_of_key, show, versions
from nwx.settings import Settings


@click.command("show")
@click.argument("key", nargs=-1, required=True)
@click.option("--text/--no-text", default=True, help="Show the extracted text too (default).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(settings: Settings, key: tuple[str, ...], text: bool, as_json: bool) -> int:
    """Show a document with its dates and the places of its records.

    KEY is `<url> <digest>` (quoted or not), the id of a document, or a URL:
    its only version, or the list of its versions.
    """
    asked = " ".join(key)
    with open_engine(settings, read_only=True) as engine:
        id = id_of_key(asked)
        if id is None:
            found = versions(engine, asked)
            if len(found) > 1:
                _print_versions(found, as_json=as_json)
                return 0
            id = found[0].id if found else None
        return _show(engine, id, asked, text=text, as_json=as_json)


def _show(engine: Engine, id: str | None, asked: str, *, text: bool, as_json: bool) -> int:
    shown = show(engine, id) if id else None
    if shown is None:
        click.echo(f"nwx: there is no document {clean(asked)} in {engine.address}", err=True)
        return 1
    if as_json:
        print_json(answer_to_json(document_answer(shown)))
    else:
        _print_document(shown, text=text)
    return 0


def _print_versions(found: list[UrlVersion], *, as_json: bool) -> None:
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


def _print_document(shown: Shown, *, text: bool) -> None:
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
