"""nwx export"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli.output import counted, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.cli.restricted import open_for_reading
from nwx.errors import UsageError
from nwx.model import LinkCell
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.bulk.progress import ShowProgress
    from nwx.engine.base import Engine
    from nwx.exports.captures import ExportReport
    from nwx.exports.links import LinkExportReport

_FORMATS = ("links", "parquet", "csv", "gexf", "web-graph")


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    what: str
    folder: Path
    formats: tuple[str, ...]
    year: int | None
    collection: str
    as_json: bool
    quiet: bool


@click.command("export")
@click.argument("what", type=click.Choice(["captures", "links"]))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice(_FORMATS),
    help="Links: what to write; may be repeated.  [default: all]",
)
@click.option(
    "--year", type=click.IntRange(1, 9999), metavar="YEAR", help="Links: of captures of this year."
)
@click.option("--collection", default="", metavar="NAME", help="Links: of this collection.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> None:
    """Write captures, or links, to files for other programs.

    FOLDER is created. `captures` writes Parquet with a folder for each month
    (month=2013-01) and one row a capture. Columns are named as in Common
    Crawl's index where it has them. `nwx build-facets --source FOLDER` reads
    the result.

    `links` writes the links as `nwx invert-links` found them last: all links
    (`links/*.parquet`: source and target urlkey, timestamp, kind, anchor),
    and graphs of hosts and of registrable domains with PageRank and harmonic
    centrality, as Parquet, CSV, GEXF (for Gephi) and in the text form of
    Common Crawl's web graphs.
    """
    asked = _Options(**given)
    if asked.what == "captures" and (asked.formats or asked.year or asked.collection):
        raise UsageError("--format, --year and --collection are options of `nwx export links`")
    # Imported here: whoever asks for help need not wait for it.

    with open_for_reading(settings) as engine, progress_bar(quiet=asked.quiet) as show:
        report = _export(engine, asked, show)
    if asked.as_json:
        print_json(asdict(report))
    elif not asked.quiet:
        click.echo(_words(report))


def _export(
    engine: "Engine", asked: _Options, show: "ShowProgress"
) -> "ExportReport | LinkExportReport":
    # Here and not above: what writes Parquet takes a while to load.
    if asked.what == "captures":
        from nwx.exports.captures import export_captures

        return export_captures(engine, asked.folder, show)
    from nwx.exports.links import export_links

    cell = LinkCell(asked.year, asked.collection)
    return export_links(engine, asked.folder, asked.formats or _FORMATS, cell, show)


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
