"""What `nwx export results` writes."""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli.output import clean, counted, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import open_for_reading
from nwx.errors import TimestampError, UsageError
from nwx.exports import PackReport, WaczSelection, pack_warc
from nwx.exports.captures import RESULT_FORMATS, all_hits, checked_fields
from nwx.model import STANDARD_INPUT
from nwx.query.dates import date_span
from nwx.query.question import Question
from nwx.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nwx.engine.base import Engine
    from nwx.model import Hit

_ENDINGS = {".csv": "csv", ".json": "json", ".txt": "txt", ".warc.gz": "warc"}
_WARC = "warc"
_ERRORS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class ResultsExport:
    """What is to be written of a search; `form` is "" for that of the ending of `out`."""

    out: Path
    form: str
    query: str
    fields: tuple[str, ...]
    collection: str
    date_from: str
    date_to: str
    with_resources: bool


def export_results(
    settings: Settings, wanted: ResultsExport, *, as_json: bool, quiet: bool
) -> None:
    """Write the results of a search to a file, and say how many."""
    form = wanted.form or _form_of(wanted.out)
    if form != _WARC:
        _write_text(settings, wanted, form, quiet=quiet or as_json)
        return
    if wanted.fields:
        raise UsageError("--field is about CSV and JSON")
    if str(wanted.out) == STANDARD_INPUT:
        raise UsageError("a WARC is written to a file; name one")
    with open_for_reading(settings) as engine, progress_bar(quiet=quiet) as progress:
        report = pack_warc(engine, _selection(wanted), wanted.out, progress)
    _print(report, as_json=as_json, quiet=quiet)


def _form_of(out: Path) -> str:
    for ending, form in _ENDINGS.items():
        if out.name.endswith(ending):
            return form
    raise UsageError(f"what to write to {out}? Name it {', '.join(_ENDINGS)}, or give --format")


def _selection(wanted: ResultsExport) -> WaczSelection:
    return WaczSelection(
        query=wanted.query,
        collections=(wanted.collection,) if wanted.collection else (),
        date_from=_bound(wanted.date_from, 0),
        date_to=_bound(wanted.date_to, 1),
        with_resources=wanted.with_resources,
    )


def _bound(date: str, end: int) -> str:
    try:
        return date_span(date)[end] if date else ""
    except TimestampError as error:
        raise UsageError(str(error)) from error


def _write_text(settings: Settings, wanted: ResultsExport, form: str, *, quiet: bool) -> None:
    if wanted.with_resources:
        raise UsageError("--with-resources is about WARC files")
    if wanted.fields and form == "txt":
        raise UsageError("--field is about CSV and JSON")
    fields = checked_fields(wanted.fields)
    question = Question(
        query=wanted.query,
        filters={"collection": (wanted.collection,)} if wanted.collection else {},
        date_from=wanted.date_from,
        date_to=wanted.date_to,
        snippets=False,
    )
    with open_for_reading(settings) as engine:
        count = _write_hits(engine, question, wanted.out, form, fields)
    if not quiet and str(wanted.out) != STANDARD_INPUT:
        click.echo(f"{counted(count, 'result')} in {clean(str(wanted.out))}")


def _write_hits(
    engine: "Engine", question: Question, out: Path, form: str, fields: tuple[str, ...]
) -> int:
    from nwx.bulk.whole_files import whole_file

    count = 0

    def hits() -> "Iterator[Hit]":
        nonlocal count
        for hit in all_hits(engine, question):
            count += 1
            yield hit

    _, write = RESULT_FORMATS[form]
    if str(out) == STANDARD_INPUT:
        for piece in write(hits(), fields):
            sys.stdout.write(piece)
        return count
    with whole_file(out) as stream:
        for piece in write(hits(), fields):
            stream.write(piece.encode("utf-8", "replace"))
    return count


def _print(report: PackReport, *, as_json: bool, quiet: bool) -> None:
    for error in report.errors[:_ERRORS_SHOWN]:
        click.echo(clean(f"nwx: {error.file}: {error.message} ({error.kind})"), err=True)
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        missing = f", {report.missing:,} missing" if report.missing else ""
        click.echo(f"{counted(report.captures, 'capture')}, {size_words(report.bytes)}{missing}")
