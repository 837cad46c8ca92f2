"""nwx build-facets"""

from pathlib import Path

import click

from nwx.cli.build_progress import shown_build
from nwx.cli.output import print_json, size_words
from nwx.engine.open import open_engine
from nwx.settings import Settings

_LEAST = 100
_MEMORY_MB = 1000


@click.command("build-facets")
@click.option(
    "--min-captures",
    "least",
    type=click.IntRange(1),
    default=_LEAST,
    show_default=True,
    help="Store the combinations with so many captures or more; 1 stores all.",
)
@click.option(
    "--sites",
    "sites_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="URL prefixes and the names of the sites they belong to, one a line.",
)
@click.option(
    "--source",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Read the captures from an export (`nwx export captures`).",
)
@click.option(
    "--memory",
    type=click.IntRange(64),
    default=_MEMORY_MB,
    show_default=True,
    metavar="MB",
    help="How much may be held in memory while captures are read.",
)
@click.option("--anew", is_flag=True, help="Build all months, not only those that changed.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show neither progress nor report.")
@click.pass_obj
def command(
    settings: Settings,
    least: int,
    sites_file: Path | None,
    source: Path | None,
    memory: int,
    anew: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Build what facet questions are answered from at once.

    That is a few columns of all captures, and the combinations of criteria
    that have many captures with all their features. Only the months that
    changed since the last build are read. Questions are answered from the
    build before until this one is complete. Stopped on the way, the same
    command goes on. Without --sites, the list of the build before is taken.
    """
    # Here and not above: what builds takes a while to load.
    from nwx.facets.building import FacetBuildOptions
    from nwx.facets.making import make_facets
    from nwx.facets.sites import read_sites

    options = FacetBuildOptions(
        least=least,
        sites=read_sites(sites_file) if sites_file else None,
        memory_bytes=memory * 1_000_000,
        anew=anew,
    )
    with open_engine(settings, read_only=True) as engine, shown_build(quiet=quiet) as show:
        report = make_facets(engine, options, show, source)
    if as_json:
        print_json(
            {
                "captures": report.captures,
                "months": report.months,
                "months_kept": report.months_kept,
                "combinations": report.combinations,
                "bytes": report.bytes,
                "seconds": round(report.seconds, 3),
            }
        )
    elif not quiet:
        click.echo(
            f"{report.captures:,} captures, {report.months:,} months built and"
            f" {report.months_kept:,} kept, {report.combinations:,} combinations,"
            f" {size_words(report.bytes)} in {report.seconds:.1f} s"
        )
