"""nwx export"""

import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.deduplicate.list_options import print_problems, sources_of
from nwx.cli.output import (
    clean,
    counted,
    opened_archive,
    print_errors,
    print_json,
    progress_bar,
    size_words,
    warn,
)
from nwx.errors import UsageError
from nwx.model import STANDARD_INPUT
from nwx.plugins import plugins
from nwx.settings import Settings
from nwx.values.records import BYTE_ORDER_MARK

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.bulk.progress import ShowProgress
    from nwx.exports import PackReport
    from nwx.exports.archive_inputs import ExtractReport
    from nwx.exports.captures import ExportReport
    from nwx.exports.cc_index_files import CcIndexReport
    from nwx.exports.hosts import HostExportReport
    from nwx.exports.links import LinkExportReport

    _Report = CcIndexReport | ExportReport | HostExportReport | LinkExportReport

_FORMATS = ("links", "parquet", "csv", "gexf", "web-graph")
_WARC = "warc"
_RESULT_FORMATS = ("csv", "json", "txt", _WARC)
_ENDINGS = {".csv": "csv", ".json": "json", ".txt": "txt", ".warc.gz": _WARC}
_EXTRACTS = ("wat", "wet", "derivatives")
_OPTIONS = {
    "captures": (),
    "cc-index": ("cdx", "crawl"),
    "hosts": (),
    "links": ("formats", "year", "collection"),
    "results": (
        *("query", "fields", "formats", "collection", "excel"),
        *("date_from", "date_to", "with_resources"),
    ),
    **dict.fromkeys(_EXTRACTS, ("query", "collection")),
}
"""The options of each kind of export."""


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
    cdx: tuple[str, ...]
    crawl: str
    as_json: bool
    quiet: bool


@click.command("export")
@click.argument("what", type=option.HintedChoice(list(_OPTIONS)))
@click.argument("folder", metavar="FOLDER|OUT", type=click.Path(path_type=Path, allow_dash=True))
@click.argument("query", metavar="[QUERY|FILE]...", nargs=-1)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=option.HintedChoice(
        tuple(dict.fromkeys((*_FORMATS, *_RESULT_FORMATS, *plugins("exporters"))))
    ),
    help="Links: formats to write; may be repeated.  [default: all]  Results: csv, json, txt (URLs)"
    " or warc.  [default: by the ending of OUT]",
)
@option.repeated(
    "--field", "NAME", "Results as CSV or JSON: a field to write; may be repeated.", into="fields"
)
@option.string("--from", "DATE", "Results: captured on this date or later.", into="date_from")
@option.string("--to", "DATE", "Results: captured on this date or earlier.", into="date_to")
@option.flag("--excel", "Write CSV with a byte order mark, for Excel.")
@option.flag("--with-resources", "Results as WARC: include the resources of pages.")
@option.value("--year", click.IntRange(1, 9999), "YEAR", "Links: only of captures of this year.")
@option.string("--collection", "NAME", "Only of this collection.")
@option.repeated(
    "--cdx", "FILE", "cc-index: read a CDX file instead of the archive; may be repeated."
)
@option.string("--crawl", "NAME", "cc-index: the crawl.  [default: the collection]")
@option.JSON_REPORT
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> int:
    """Write captures, links, results or extracts to files for other programs.

    FOLDER is created. `captures` writes Parquet with a folder for each month
    (month=2013-01) and one row per capture. Columns are named as in Common Crawl's index
    where it has them. `nwx build-facets --source FOLDER` reads the result.

    `cc-index` writes Common Crawl's columnar index, column by column: Parquet
    in folders `crawl=…/subset=…`, sorted by url_surtkey.

    `hosts` writes a row for each host and month: captures, documents, bytes,
    statuses, types, languages, robots.txt and sitemap seen, and centrality.

    `links` writes the links last indexed by `nwx invert-links`: all links
    (`links/*.parquet`: source and target urlkey, timestamp, kind, anchor), and graphs of
    hosts and of registrable domains with PageRank and harmonic centrality, as Parquet, CSV,
    GEXF (for Gephi) and in the text format of Common Crawl's web graphs.

    `results` writes the results of QUERY to the file OUT: CSV or JSON with the fields
    chosen by --field, a list of URLs, or a WARC with the records of their captures. - is
    standard output, except for a WARC.

    `wat` and `wet` write a file in Common Crawl's format for each archive file: metadata of
    all records, and the text of pages. They read the files of the archive, or FILEs. Files
    already in FOLDER are not written again.

    `derivatives` writes tables of their domains, pages, links, pictures and
    other files as CSV and Parquet, named as in the Archives Unleashed Toolkit.
    """
    asked = _Options(**given)
    _check_use(asked)
    with opened_archive(settings) as archive:
        if asked.what == "results":
            _export_results(archive, asked)
            return 0
        with progress_bar(quiet=asked.quiet) as show:
            if asked.what in _EXTRACTS:
                return _export_extracts(archive, asked, show)
            report = _export(archive, asked, show)
    return _report_export(report, asked)


def _check_use(asked: _Options) -> None:
    names = {one.name: one.opts[0] for one in click.get_current_context().command.params}
    for one, value in asdict(asked).items():
        if value and one not in (*_OPTIONS[asked.what], "what", "folder", "as_json", "quiet"):
            owners = [f"`nwx export {what}`" for what, has in _OPTIONS.items() if one in has]
            raise UsageError(f"{names[one]} is an option of {' and '.join(owners)}")
    if asked.what == "results":
        known = {*_RESULT_FORMATS, *plugins("exporters")}
        if len(asked.formats) > 1 or set(asked.formats) - known:
            raise UsageError(f"results are written as one of {', '.join(_RESULT_FORMATS)}")
    elif str(asked.folder) == STANDARD_INPUT:
        raise UsageError(f"{asked.what} are written to a folder; name one")
    elif asked.what in _EXTRACTS and asked.query and asked.collection:
        raise UsageError("--collection applies to the files of an archive; leave out FILEs")
    elif not set(asked.formats) <= set(_FORMATS):
        raise UsageError(f"links are written as {', '.join(_FORMATS)}")


def _report_export(report: "_Report", asked: _Options) -> int:
    found = asdict(report)
    problems = found.pop("problems", ())
    print_problems(problems, found.get("problems_total", 0))
    for damage in found.get("damaged", ()):
        warn(damage)
    if asked.as_json:
        print_json(found)
    elif not asked.quiet:
        click.echo(_words(report))
    return 1 if problems and not found["rows"] else 0


def _export_extracts(archive: "Archive", asked: _Options, show: "ShowProgress") -> int:
    report = archive.export_extracts(
        asked.what, asked.folder, asked.query, collection=asked.collection, progress=show
    )
    return _report_extracts(report, asked)


def _report_extracts(report: "ExtractReport", asked: _Options) -> int:
    print_errors(report.errors, len(report.errors))
    if asked.as_json:
        print_json(asdict(report))
    elif not asked.quiet:
        counts = (f"{report.present:,} already there", f"{report.hidden:,} records hidden")
        more = [text for text in counts if not text.startswith("0 ")]
        if report.errors:
            more.append(counted(len(report.errors), "error"))
        written = counted(report.written, "row" if asked.what == "derivatives" else "record")
        click.echo(
            f"{written} of {counted(report.records, 'record')} in {counted(report.files, 'file')}, "
            f"{size_words(report.bytes)} in {report.seconds:.1f} s"
            + "".join(f"; {text}" for text in more)
        )
    return 0 if report.records or report.present else 1


def _export(archive: "Archive", asked: _Options, show: "ShowProgress") -> "_Report":
    if asked.what == "captures":
        return archive.export_captures(asked.folder, show)
    if asked.what == "hosts":
        return archive.export_hosts(asked.folder, show)
    if asked.what == "cc-index":
        sources = sources_of(asked.cdx, None) if asked.cdx else ()
        return archive.export_cc_index(asked.folder, sources, asked.crawl, show)
    return archive.export_links(
        asked.folder,
        formats=asked.formats,
        year=asked.year,
        collection=asked.collection,
        progress=show,
    )


def _export_results(archive: "Archive", asked: _Options) -> None:
    """Write the results of a search to a file, and print their number."""
    form = asked.formats[0] if asked.formats else _form_of(asked.folder)
    if asked.excel and form != "csv":
        raise UsageError("--excel applies only to CSV")
    if form != _WARC:
        _write_text(archive, asked, form)
        return
    if asked.fields:
        raise UsageError("--field applies only to CSV and JSON")
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
    raise UsageError(
        f"the format of {out} is unknown; name it {', '.join(_ENDINGS)}, or use --format"
    )


def _write_text(archive: "Archive", asked: _Options, form: str) -> None:
    if asked.with_resources:
        raise UsageError("--with-resources applies only to WARC files")
    if asked.fields and form == "txt":
        raise UsageError("--field applies only to CSV and JSON")
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
    if asked.as_json:
        print_json({"results": count})
    elif not asked.quiet:
        click.echo(f"{counted(count, 'result')} in {clean(str(asked.folder))}")


def _print_packed(report: "PackReport", *, as_json: bool, quiet: bool) -> None:
    print_errors(report.errors, len(report.errors))
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        missing = f", {report.missing:,} missing" if report.missing else ""
        click.echo(f"{counted(report.captures, 'capture')}, {size_words(report.bytes)}{missing}")


def _words(report: "_Report") -> str:
    from nwx.exports.captures import ExportReport
    from nwx.exports.cc_index_files import CcIndexReport
    from nwx.exports.hosts import HostExportReport

    written = f"{size_words(report.bytes)} in {report.seconds:.1f} s"
    if isinstance(report, ExportReport):
        return (
            f"{counted(report.captures, 'capture')} of "
            f"{counted(report.months, 'month')} in {counted(report.files, 'file')}, {written}"
        )
    if isinstance(report, HostExportReport):
        return f"{counted(report.rows, 'row')} in {counted(report.files, 'file')}, {written}"
    if isinstance(report, CcIndexReport):
        left_out = f", {report.problems_total:,} left out" if report.problems_total else ""
        return (
            f"{counted(report.rows, 'capture')} in {counted(report.files, 'file')}"
            f"{left_out}, {written}"
        )
    estimated = "" if report.is_exact else "; harmonic centrality is estimated from a sample"
    links = f"{counted(report.links, 'link')}, " if report.links else ""
    return (
        f"{links}{counted(report.hosts, 'host')} with {counted(report.host_links, 'edge')}, "
        f"{counted(report.domains, 'domain')} with {counted(report.domain_links, 'edge')} "
        f"in {counted(report.files, 'file')}, {written}{estimated}"
    )
