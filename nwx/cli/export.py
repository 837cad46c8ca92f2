"""nwx export"""

from dataclasses import asdict
from pathlib import Path

import click

from nwx.cli.output import counted, print_json, size_words
from nwx.cli.progress import progress_bar
from nwx.engine.open import open_engine
from nwx.settings import Settings


@click.command("export")
@click.argument("what", type=click.Choice(["captures"]))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
@click.pass_obj
def command(settings: Settings, what: str, folder: Path, as_json: bool, quiet: bool) -> None:
    """Write captures to Parquet files.

    FOLDER is created, with a folder for each month (month=2013-01) and one row
    a capture. Columns are named as in Common Crawl's index where it has them.
    `nwx build-facets --source FOLDER` reads the result.
    """
    # Here and not above: what writes Parquet takes a while to load.
    from nwx.exports.captures import export_captures

    with open_engine(settings, read_only=True) as engine, progress_bar(quiet=quiet) as show:
        report = export_captures(engine, folder, show)
    if as_json:
        print_json(asdict(report))
    elif not quiet:
        click.echo(
            f"{counted(report.captures, 'capture')} of "
            f"{counted(report.months, 'month')} in {counted(report.files, 'file')},"
            f" {size_words(report.bytes)} in {report.seconds:.1f} s"
        )
