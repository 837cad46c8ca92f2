"""nwx export"""

from dataclasses import asdict
from pathlib import Path

import click

from nwx.cli.build_progress import shown_build
from nwx.cli.output import print_json, size_words
from nwx.engine.open import open_engine
from nwx.settings import Settings


@click.command("export")
@click.argument("what", type=click.Choice(["captures"]))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show neither progress nor report.")
@click.pass_obj
def command(settings: Settings, what: str, folder: Path, as_json: bool, quiet: bool) -> None:
    """Write the captures to Parquet files, for other programs.

    FOLDER is made anew: a folder month=2013-01 for each month, one row a
    capture. Columns have the names of Common Crawl's index where it has
    them. `nwx build-facets --source FOLDER` reads it.
    """
    # Here and not above: what writes Parquet takes a while to load.
    from nwx.exports.captures import export_captures

    with open_engine(settings, read_only=True) as engine, shown_build(quiet=quiet) as show:
        report = export_captures(engine, folder, show)
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        click.echo(
            f"{report.captures:,} captures of {report.months:,} months in {report.files:,} files,"
            f" {size_words(report.bytes)} in {report.seconds:.1f} s"
        )
