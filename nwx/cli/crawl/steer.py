"""nwx steer"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from nwx.cli import option
from nwx.cli.crawl.simulated_crawl import check_simulation, simulate_crawl
from nwx.cli.crawl.steering_reports import (
    AnalysisChoices,
    analysis_options,
    print_steering_errors,
    steering_summary,
)
from nwx.cli.output import print_json, warn
from nwx.cli.progress import progress_bar, stop_signals
from nwx.settings import Settings


@dataclass(frozen=True, slots=True)
class _Options:
    """The arguments of the command, as click names them."""

    specification: str
    simulated: str | None
    budget: int | None
    chart: Path | None
    jobs: int | None
    item_seconds: float
    nlp: str
    spam_hosts: str | None
    triples: bool
    as_json: bool
    quiet: bool


@click.command("steer")
@click.argument("specification", metavar="SPEC")
@option.string(
    "--simulate",
    "COLLECTION",
    "Crawl this collection in place of the web, and send nothing.",
    into="simulated",
    default=None,
)
@option.count(
    "--budget", "N", "With --simulate: pages to fetch.  [default: a quarter of those within reach]"
)
@option.value(
    "--chart",
    option.FILE,
    "FILE",
    "With --simulate: draw the harvest rates into this file, .svg or .png.",
)
@option.count("--jobs", "N", "Processes that analyse (default: CPUs).")
@option.value(
    "--item-seconds",
    click.FloatRange(0, min_open=True),
    None,
    "Processor time for the analysis of one page, in seconds.",
    default=20.0,
)
@analysis_options
@option.JSON_REPORT
@click.pass_obj
def command(settings: Settings, /, **given: Any) -> int:
    """Analyse pages by a crawl specification, and send links to the queue.

    SPEC is a TOML or JSON file, or the name of a specification in the archive.
    Each page of the archive is analysed once for each version of the specification: it and
    the links on it get scores, and links that are relevant enough, or
    blacklisted, are sent to the crawler's queue. Pages that an import with
    --steer left are analysed now. An interrupted run is resumed by the same
    command.

    With --simulate, the pages and links of a collection are crawled as if they
    were the web: breadth first, steered by SPEC, and by an oracle that knows the
    relevant pages. The harvest rate is the share of relevant pages among those
    fetched; a page is relevant when its score reaches the threshold of SPEC.
    """
    asked = _Options(**given)
    choices = AnalysisChoices(asked.nlp, asked.spam_hosts, asked.triples)
    check_simulation(asked.simulated, asked.budget, asked.chart)
    if asked.simulated is not None:
        simulate_crawl(
            settings,
            asked.specification,
            asked.simulated,
            asked.budget,
            asked.chart,
            as_json=asked.as_json,
            quiet=asked.quiet,
        )
        return 0
    return _steer(settings, asked, choices)


def _steer(settings: Settings, asked: _Options, choices: AnalysisChoices) -> int:
    # Imported here: whoever asks for help need not wait for it.
    from nwx.bulk.resources import processors
    from nwx.engine.open import open_engine
    from nwx.steering.running.options import steering_report_json
    from nwx.steering.running.steering_run import steer_archive
    from nwx.steering.specifications.specification_store import steering_specification

    jobs = asked.jobs or processors()
    options = choices.options(jobs=jobs, item_seconds=asked.item_seconds)
    open_engine(settings, read_only=True).close()  # no archive is made here
    with (
        open_engine(settings) as engine,
        stop_signals() as received,
        progress_bar(quiet=asked.quiet) as progress,
    ):
        chosen = steering_specification(engine.crawl_index(), asked.specification)
        report = steer_archive(engine, settings, chosen, options, progress, lambda: bool(received))
    print_steering_errors(report)
    if asked.as_json:
        print_json(steering_report_json(report))
    elif not asked.quiet:
        click.echo(steering_summary(report))
    if report.interrupted:
        warn("stopped; run the same command again to go on")
    return 128 + received[0] if received else 0
