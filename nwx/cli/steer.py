"""nwx steer"""

import click

from nwx.cli.output import print_json
from nwx.cli.progress import progress_bar
from nwx.cli.signals import stop_signals
from nwx.cli.steering_reports import print_steering_errors, steering_summary
from nwx.settings import Settings


@click.command("steer")
@click.argument("specification", metavar="SPEC")
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Processes that analyse (default: CPUs)."
)
@click.option(
    "--item-seconds",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    help="Time limit for the analysis of one page, in seconds.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
@click.pass_obj
def command(
    settings: Settings,
    specification: str,
    jobs: int | None,
    item_seconds: float,
    as_json: bool,
    quiet: bool,
) -> int:
    """Analyse pages by a crawl specification, and send links to the queue.

    SPEC is a TOML or JSON file, or the name of a specification in the archive.
    Each page of the archive is analysed once for each version of the specification: it and
    the links on it get scores, and links that are relevant enough, or
    blacklisted, are sent to the crawler's queue. Pages that an import with
    --steer left are analysed now. An interrupted run is resumed by the same
    command.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.bulk.resources import processors
    from nwx.engine.open import open_engine
    from nwx.steering.running.archive_run import steer_archive
    from nwx.steering.running.chosen_specification import chosen_specification
    from nwx.steering.running.options import SteeringOptions
    from nwx.steering.running.report import steering_report_json

    options = SteeringOptions(jobs=jobs or processors(), item_seconds=item_seconds)
    open_engine(settings, read_only=True).close()  # no archive is made here
    with (
        open_engine(settings) as engine,
        stop_signals() as received,
        progress_bar(quiet=quiet) as progress,
    ):
        chosen = chosen_specification(engine, specification)
        report = steer_archive(engine, settings, chosen, options, progress, lambda: bool(received))
    print_steering_errors(report)
    if as_json:
        print_json(steering_report_json(report))
    elif not quiet:
        click.echo(steering_summary(report))
    if report.interrupted:
        click.echo("nwx: stopped; run the same command again to go on", err=True)
    return 128 + received[0] if received else 0
