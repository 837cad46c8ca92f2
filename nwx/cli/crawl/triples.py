"""nwx triples"""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import (
    clean,
    counted,
    opened_archive,
    print_json,
    progress_bar,
    stop_signals,
    warn,
)
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.triples.archive_triples import TriplesReport
    from nwx.steering.triples.triple_store import QueryAnswer

_ERRORS_SHOWN = 10
_FORMS = ("table", "json", "xml", "csv", "tsv", "ttl", "nt", "rdf")


@click.group("triples")
def command() -> None:
    """Build, export and query the facts that pages state, as RDF triples.

    Facts come from JSON-LD, microdata, OpenGraph and Dublin Core of pages, and from the
    entities that analysis found. Each is in a graph named by its capture, with source and
    date. The store is the folder `triples` in the archive, or NWX_TRIPLES: another folder,
    or the update address of a SPARQL 1.1 server (NWX_TRIPLES_QUERY: its query address).
    """


@command.command("build")
@option.string("--collection", "NAME", "Read the pages of this collection.")
@option.flag("--names", "Also find names in the text of pages.")
@option.string("--nlp", "spacy:MODEL", "Find names by a spaCy model.")
@option.value(
    "--places",
    click.Path(path_type=Path, exists=True, dir_okay=False),
    "FILE",
    "Find names, and these places: one per line, or a table of GeoNames.",
)
@option.JSON_REPORT
@click.pass_obj
def build(settings: Settings, /, as_json: bool, quiet: bool, **given: Any) -> int:
    """Store facts that pages state, and entities that analysis found in them.

    Pages already in the store are not read again. Run again to resume an interrupted build.
    """
    with (
        opened_archive(settings) as archive,
        stop_signals() as received,
        progress_bar(quiet=quiet or as_json) as progress,
    ):
        report = archive.build_triples(progress=progress, stopping=lambda: bool(received), **given)
    if as_json:
        print_json(asdict(report))
    else:
        _print_report(report, quiet=quiet)
    return 128 + received[0] if received else 0


def _print_report(report: "TriplesReport", *, quiet: bool) -> None:
    for error in report.errors[:_ERRORS_SHOWN]:
        warn(f"{error.file} at {error.offset}: {error.message}")
    if (more := report.errors_total - _ERRORS_SHOWN) > 0:
        warn(f"… and {counted(more, 'more error')}; --json lists them")
    if not quiet:
        click.echo(triples_words(report))
    if report.interrupted:
        warn("stopped; run the same command again to resume")


def triples_words(report: "TriplesReport") -> str:
    """Return the report of a build as one line of text."""
    return (
        f"{counted(report.pages, 'page')} read, {report.known:,} known,"
        f" {counted(report.mentions, 'page')} with entities of a specification,"
        f" {counted(report.triples, 'new triple')}, {counted(report.errors_total, 'error')}"
    )


@command.command("export")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.pass_obj
def export(settings: Settings, /, file: Path) -> None:
    """Write all triples with their graphs to FILE as N-Quads; - is standard output."""
    from nwx.bulk.whole_files import whole_file

    with opened_archive(settings) as archive:
        if str(file) == STANDARD_INPUT:
            archive.visible_triples().export(sys.stdout.buffer)
            return
        with whole_file(file) as output:
            archive.visible_triples().export(output)


@command.command("query")
@click.argument("sparql", required=False)
@option.value("--file", option.TEXT_FILE, "FILE", "Read the query from FILE.")
@option.choice_of(
    "--format",
    _FORMS,
    "Form of the answer; ttl, nt and rdf for CONSTRUCT and DESCRIBE.",
    into="form",
    default="table",
)
@option.above_zero("--seconds", None, "Time limit.", default=300.0)
@option.count("--rows", None, "Maximum number of rows.", default=1_000_000)
@click.pass_obj
def answer_query(
    settings: Settings,
    /,
    sparql: str | None,
    file: IO[str] | None,
    form: str,
    seconds: float,
    rows: int,
) -> None:
    """Answer a SPARQL 1.1 query.

    A query without GRAPH, FROM and FROM NAMED covers all graphs. Updates and SERVICE are
    refused.
    """
    from nwx.steering.triples.triple_store import QueryLimits, SparqlQuery

    if (sparql is None) == (file is None):
        raise UsageError("give the query as an argument, or with --file")
    text = sparql if sparql is not None else file.read() if file else ""
    limits = QueryLimits(seconds, rows, bytes=1 << 30, memory_bytes=4 << 30)
    with opened_archive(settings) as archive:
        answer = archive.visible_triples().answer(SparqlQuery(text), limits)
    sys.stdout.write(_answer_text(answer, form))


_WIDEST = 80


def _answer_text(answer: "QueryAnswer", form: str) -> str:
    """Return an answer in a form, `table` for people; raises UsageError if it has no such form."""
    from nwx.steering.triples.triple_store import forms_of, serialized

    if form == "table":
        return _for_people(answer)
    forms = forms_of(answer.kind)
    if form not in forms:
        raise UsageError(f"this query is answered as {', '.join(forms)}, not as {form}")
    text = serialized(answer, form).data.decode("utf-8", "replace")
    return text if text.endswith("\n") else f"{text}\n"


def _for_people(answer: "QueryAnswer") -> str:
    if answer.kind == "triples":
        lines = answer.data.decode().removesuffix("\n").split("\n")
        return "".join(f"{clean(line)}\n" for line in lines if line)
    found: Any = json.loads(answer.data)
    if answer.kind == "boolean":
        return "yes\n" if found["boolean"] else "no\n"
    names: list[str] = found["head"]["vars"]
    rows = [[_cell(row.get(name)) for name in names] for row in found["results"]["bindings"]]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    shown = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (names, *rows)]
    return "".join(f"{line}\n" for line in shown)


def _cell(term: dict[str, str] | None) -> str:
    text = clean(term["value"]) if term else ""
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
