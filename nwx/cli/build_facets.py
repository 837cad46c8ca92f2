"""nwx build-facets"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli.output import clean, counted, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.facets.builds.build import FacetBuildReport


_MIN_CAPTURES = 100
_FAULTS_SHOWN = 20
_MEMORY_MB = 1000


@click.command("build-facets")
@click.option(
    "--min-captures",
    type=click.IntRange(1),
    default=_MIN_CAPTURES,
    show_default=True,
    help="Store combinations with at least this many captures; 1 stores all.",
)
@click.option(
    "--sites",
    "sites_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File of URL prefixes and site names, one pair a line.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Read captures from an export (`nwx export captures`) instead of the archive.",
)
@click.option(
    "--memory",
    type=click.IntRange(64),
    default=_MEMORY_MB,
    show_default=True,
    metavar="MB",
    help="Memory limit for reading captures, in MB.",
)
@click.option("--anew", is_flag=True, help="Build all months again, not only those that changed.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
@click.pass_obj
def command(
    settings: Settings,
    min_captures: int,
    sites_file: Path | None,
    source: Path | None,
    memory: int,
    anew: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build the columns and combinations that answer facet questions.

    These are a few columns of all captures, and all features of each
    combination of criteria with many captures. Only months that changed since
    the last build are read. Questions are answered from the previous build
    until this one is complete. If interrupted, run the same command again to
    resume. Without --sites, the site list of the previous build is used.
    """
    # Here and not above: what builds takes a while to load.
    from nwx.engine.open import open_engine
    from nwx.facets.builds.build import FacetBuildOptions, build_archive_facets
    from nwx.facets.sites import read_sites

    sites = read_sites(sites_file) if sites_file else None
    for fault in sites.without_effect[:_FAULTS_SHOWN] if sites else ():
        click.echo(f"nwx: {clean(f'{sites_file}: {fault}')}", err=True)
    options = FacetBuildOptions(
        min_captures=min_captures,
        sites=sites,
        memory_bytes=memory * 1_000_000,
        anew=anew,
    )
    with open_engine(settings, read_only=True) as engine, progress_bar(quiet=quiet) as show:
        report = build_archive_facets(engine, options, show, source)
    if as_json:
        print_json(_report_json(report))
    elif not quiet:
        click.echo(
            f"{counted(report.captures, 'capture')}, {counted(report.months, 'month')} built and"
            f" {report.months_kept:,} kept, {counted(report.combinations, 'combination')},"
            f" {size_words(report.bytes)} in {report.seconds:.1f} s"
        )


def _report_json(report: "FacetBuildReport") -> dict[str, float]:
    return {
        "captures": report.captures,
        "months": report.months,
        "months_kept": report.months_kept,
        "combinations": report.combinations,
        "bytes": report.bytes,
        "seconds": round(report.seconds, 3),
    }
