"""nwx export"""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, print_json, size_words, warn
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import opened_archive
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.plugins import plugins
from nwx.settings import Settings
from nwx.values.csv_cells import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.bulk.progress import ShowProgress
    from nwx.exports import PackReport
    from nwx.exports.captures import ExportReport
    from nwx.exports.extracted.inputs import ExtractReport
    from nwx.exports.links import LinkExportReport

_FORMATS = ("links", "parquet", "csv", "gexf", "web-graph")
_WARC = "warc"
_RESULT_FORMATS = ("csv", "json", "txt", _WARC)
_ENDINGS = {".csv": "csv", ".json": "json", ".txt": "txt", ".warc.gz": _WARC}
_EXTRACTS = ("wat", "wet")
_ERRORS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    what: str
    folder: Path
    formats: tuple[str, ...]
    query: tuple[str, ...]
    fields: tuple[str, ...]
    date_from: str
    date_to: str
    with_resources: bool
    excel: bool
    year: int | None
    collection: str
    as_json: bool
    quiet: bool


@click.command("export")
@click.argument("what", type=click.Choice(("captures", "links", "results", *_EXTRACTS)))
@click.argument("folder", metavar="FOLDER|OUT", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("query", metavar="[QUERY|FILE]...", nargs=-1)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(tuple(dict.fromkeys((*_FORMATS, *_RESULT_FORMATS, *plugins("exporters"))))),
    help="Links: what to write; may be repeated.  [default: all]  Results: csv, json, txt (URLs)"
    " or warc.  [default: by the ending of OUT]",
)
@option.repeated(
    "--field", "NAME", "Results as CSV or JSON: a field of each; may be repeated.", into="fields"
)
@option.string("--from", "DATE", "Results: captured from then on.", into="date_from")
@option.string("--to", "DATE", "Results: captured until then.", into="date_to")
@option.flag("--excel", "CSV that begins with a byte order mark, as Excel needs it.")
@option.flag("--with-resources", "Results as WARC: include what their pages load.")
@option.value("--year", click.IntRange(1, 9999), "YEAR", "Links: of captures of this year.")
@option.string("--collection", "NAME", "Of this collection.")
@option.JSON_REPORT
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> int:
    """Write captures, links, results or extracts to files for other programs.

    FOLDER is created. `captures` writes Parquet with a folder for each month
    (month=2013-01) and one row a capture. Columns are named as in Common
    Crawl's index where it has them. `nwx build-facets --source FOLDER` reads
    the result.

    `links` writes the links as `nwx invert-links` found them last: all links
    (`links/*.parquet`: source and target urlkey, timestamp, kind, anchor),
    and graphs of hosts and of registrable domains with PageRank and harmonic
    centrality, as Parquet, CSV, GEXF (for Gephi) and in the text form of
    Common Crawl's web graphs.

    `results` writes what QUERY finds to the file OUT: CSV or JSON with the
    fields chosen by --field, a list of URLs, or a WARC with the records of
    their captures. - is standard output, but for a WARC.

    `wat` and `wet` write a file of Common Crawl's form for each archive file:
    metadata of all records, texts of pages. They are those of the archive, or
    FILEs without one. Files that FOLDER has are not written again.
    """
    asked = _Options(**given)
    _check_use(asked)
    with opened_archive(settings) as archive:
        if asked.what == "results":
            _export_results(archive, asked)
            return 0
        with progress_bar(quiet=asked.quiet) as show:
            if asked.what in _EXTRACTS:
                extracts = archive.export_extracts(
                    asked.what,
                    asked.folder,
                    asked.query,
                    collection=asked.collection,
                    progress=show,
                )
                return _report_extracts(extracts, asked)
            report = _export(archive, asked, show)
    if asked.as_json:
        print_json(asdict(report))
    elif not asked.quiet:
        click.echo(_words(report))
    return 0


def _check_use(asked: _Options) -> None:
    if asked.what == "results":
        if asked.year is not None:
            raise UsageError("--year is about links; for results use --from and --to")
        known = {*_RESULT_FORMATS, *plugins("exporters")}
        if len(asked.formats) > 1 or set(asked.formats) - known:
            raise UsageError(f"results are written as one of {', '.join(_RESULT_FORMATS)}")
        return
    query = () if asked.what in _EXTRACTS else asked.query
    given = (query, asked.fields, asked.date_from, asked.date_to, asked.with_resources)
    if any(given) or asked.excel:
        raise UsageError(
            "a query, --field, --from, --to, --excel and --with-resources are for results"
        )
    if asked.what != "links" and (asked.formats or asked.year):
        raise UsageError("--format and --year are options of `nwx export links`")
    if asked.collection and (asked.what == "captures" or asked.query):
        raise UsageError("--collection is about links, and about the files of an archive")
    if not set(asked.formats) <= set(_FORMATS) or str(asked.folder) == STANDARD_INPUT:
        raise UsageError(f"links are written to a folder, as {', '.join(_FORMATS)}")


def _report_extracts(report: "ExtractReport", asked: _Options) -> int:
    for error in report.errors[:_ERRORS_SHOWN]:
        warn(f"{error.file}: {error.message} ({error.kind})")
    if asked.as_json:
        print_json(asdict(report))
    elif not asked.quiet:
        counts = (f"{report.present:,} there already", f"{report.hidden:,} records hidden")
        more = [text for text in counts if not text.startswith("0 ")]
        if report.errors:
            more.append(counted(len(report.errors), "error"))
        written = counted(report.written, "record")
        click.echo(
            f"{written} of {report.records:,} in {counted(report.files, 'file')}, "
            f"{size_words(report.bytes)} in {report.seconds:.1f} s"
            + "".join(f"; {text}" for text in more)
        )
    return 0 if report.files or report.present else 1


def _export(
    archive: "Archive", asked: _Options, show: "ShowProgress"
) -> "ExportReport | LinkExportReport":
    if asked.what == "captures":
        return archive.export_captures(asked.folder, show)
    return archive.export_links(
        asked.folder,
        formats=asked.formats,
        year=asked.year,
        collection=asked.collection,
        progress=show,
    )


def _export_results(archive: "Archive", asked: _Options) -> None:
    """Write the results of a search to a file, and say how many."""
    form = asked.formats[0] if asked.formats else _form_of(asked.folder)
    if asked.excel and form != "csv":
        raise UsageError("--excel is about CSV")
    if form != _WARC:
        _write_text(archive, asked, form)
        return
    if asked.fields:
        raise UsageError("--field is about CSV and JSON")
    if str(asked.folder) == STANDARD_INPUT:
        raise UsageError("a WARC is written to a file; name one")
    with progress_bar(quiet=asked.quiet) as progress:
        report = archive.export_warc(
            asked.folder,
            " ".join(asked.query),
            from_=asked.date_from,
            to=asked.date_to,
            collection=asked.collection,
            with_resources=asked.with_resources,
            progress=progress,
        )
    _print_packed(report, as_json=asked.as_json, quiet=asked.quiet)


def _form_of(out: Path) -> str:
    for ending, form in _ENDINGS.items():
        if out.name.endswith(ending):
            return form
    raise UsageError(f"what to write to {out}? Name it {', '.join(_ENDINGS)}, or give --format")


def _write_text(archive: "Archive", asked: _Options, form: str) -> None:
    if asked.with_resources:
        raise UsageError("--with-resources is about WARC files")
    if asked.fields and form == "txt":
        raise UsageError("--field is about CSV and JSON")
    hits = archive.search(
        " ".join(asked.query),
        from_=asked.date_from,
        to=asked.date_to,
        snippets=False,
        collection=asked.collection,
    )
    if str(asked.folder) == STANDARD_INPUT:
        sys.stdout.write(BYTE_ORDER_MARK if asked.excel else "")
        hits.write_to(sys.stdout.write, form, asked.fields)
        return
    count = hits.write(asked.folder, form, asked.fields, excel=asked.excel)
    if not (asked.quiet or asked.as_json):
        click.echo(f"{counted(count, 'result')} in {clean(str(asked.folder))}")


def _print_packed(report: "PackReport", *, as_json: bool, quiet: bool) -> None:
    for error in report.errors[:_ERRORS_SHOWN]:
        warn(f"{error.file}: {error.message} ({error.kind})")
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        missing = f", {report.missing:,} missing" if report.missing else ""
        click.echo(f"{counted(report.captures, 'capture')}, {size_words(report.bytes)}{missing}")


def _words(report: "ExportReport | LinkExportReport") -> str:
    from nwx.exports.captures import ExportReport

    written = f"{size_words(report.bytes)} in {report.seconds:.1f} s"
    if isinstance(report, ExportReport):
        return (
            f"{counted(report.captures, 'capture')} of "
            f"{counted(report.months, 'month')} in {counted(report.files, 'file')}, {written}"
        )
    estimated = "" if report.is_exact else "; harmonic centrality is estimated from a sample"
    links = f"{counted(report.links, 'link')}, " if report.links else ""
    return (
        f"{links}{counted(report.hosts, 'host')} with {counted(report.host_links, 'edge')}, "
        f"{counted(report.domains, 'domain')} with {counted(report.domain_links, 'edge')} "
        f"in {counted(report.files, 'file')}, {written}{estimated}"
    )
