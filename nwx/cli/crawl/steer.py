"""nwx steer and nwx heritrix"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.crawl.steering_reports import (
    analysis_options,
    print_steering_errors,
    steering_summary,
    taken_choices,
)
from nwx.cli.output import (
    clean,
    counted,
    json_text,
    opened_archive,
    print_json,
    progress_bar,
    stop_signals,
    warn,
)
from nwx.errors import EngineError, UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from rich.table import Table

    from nwx.archive import Archive
    from nwx.steering.adapters.heritrix_feed import FeedCounts
    from nwx.steering.comparison.relevance import JudgedSample
    from nwx.steering.comparison.simulation import SimulatedCrawl, SimulationReport

_CHART_WIDTH = 960
_SUFFIXES = (".svg", ".png")


@click.command("steer")
@click.argument("specification", metavar="SPEC")
@option.string(
    "--simulate",
    "COLLECTION",
    "Crawl this collection instead of the web, and send nothing.",
    into="simulated",
    default=None,
)
@option.count(
    "--budget",
    "N",
    "With --simulate: number of pages to fetch.  [default: a quarter of those within reach]",
)
@option.file_path(
    "--chart", "With --simulate: draw the harvest rates into this file, .svg or .png."
)
@option.file_path(
    "--judged", "With --simulate: a file with a URL and a grade per line; 0 is not relevant."
)
@option.repeated(
    "--like",
    "URL|FILE",
    "An example, whose distinctive words are added to SPEC; repeatable.",
)
@option.count("--jobs", "N", "Number of processes (default: CPUs).")
@option.above_zero(
    "--item-seconds", None, "Processor time for the analysis of one page, in seconds.", default=20.0
)
@analysis_options
@option.JSON_REPORT
@click.pass_obj
def steer_command(
    settings: Settings,
    /,
    specification: str,
    simulated: str | None,
    budget: int | None,
    chart: Path | None,
    judged: Path | None,
    like: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> int:
    """Analyse pages by a crawl specification, and send links to the queue.

    SPEC is a TOML or JSON file, or the name of a specification in the archive. Each page of
    the archive is analysed once for each version of the specification: it and the links on
    it get scores, and links that are relevant enough, or blacklisted, are sent to the
    crawler's queue. Pages left by an import with --steer are analysed too. Run again to
    resume an interrupted run.

    With --simulate, the pages and links of a collection are crawled as if they
    were the web: breadth first, steered by SPEC, and by an oracle that knows the
    relevant pages. The harvest rate is the share of relevant pages among those
    fetched; a page is relevant when its score reaches the threshold of SPEC, or
    as --judged says.
    """
    _check_simulation(simulated, budget=budget, chart=chart, judged=judged)
    if simulated is not None:
        with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
            spam = Path(given["spam_hosts"]) if given["spam_hosts"] else None
            found = archive.simulate_crawl(
                specification, simulated, budget, progress, judged, spam, like
            )
        _print_simulated(found, chart, as_json=as_json, quiet=quiet)
        return 0
    from nwx.bulk.resources import processors
    from nwx.steering.options import steering_report_json

    choices = taken_choices(given)
    options = choices.options(**given | {"jobs": given["jobs"] or processors()})
    with (
        opened_archive(settings) as archive,
        stop_signals() as received,
        progress_bar(quiet=quiet) as progress,
    ):
        report = archive.steer(specification, options, progress, lambda: bool(received), like)
    print_steering_errors(report)
    if as_json:
        print_json(steering_report_json(report))
    elif not quiet:
        click.echo(steering_summary(report))
    if report.interrupted:
        warn("stopped; run the same command again to resume")
    return 128 + received[0] if received else 0


def _check_simulation(collection: str | None, chart: Path | None, **others: Any) -> None:
    given = {"chart": chart, **others}
    name = next((name for name, value in given.items() if value is not None), "")
    if collection is None and name:
        raise UsageError(f"--{name} needs --simulate COLLECTION")
    if chart is not None and chart.suffix.lower() not in _SUFFIXES:
        raise UsageError(
            f"{chart} is not a chart file; its name must end in {' or '.join(_SUFFIXES)}"
        )


def _print_simulated(
    report: "SimulationReport", chart: Path | None, *, as_json: bool, quiet: bool
) -> None:
    if chart is not None:
        _draw(report, chart)
    if as_json:
        print_json(report.to_json())
    elif not quiet:
        _print_simulation(report)


def _draw(report: "SimulationReport", path: Path) -> None:
    from nwx.bulk.whole_files import whole_file
    from nwx.charts import fields
    from nwx.charts.pictures import draw_picture
    from nwx.charts.specs import harvest_chart

    crawls = {
        "Steered": report.steered,
        "Breadth first": report.breadth_first,
        "Oracle": report.oracle,
    }
    harvests = {name: list(enumerate(crawl.curve, 1)) for name, crawl in crawls.items()}
    spec = harvest_chart(harvests, _CHART_WIDTH)
    looks = fields.config("light", background=True)
    picture = draw_picture(spec, looks, "png" if path.suffix.lower() == ".png" else "svg")
    with whole_file(path) as stream:
        stream.write(picture)


@click.command("heritrix")
@click.argument("job", metavar="JOB", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--crawl", required=True, metavar="NAME", help="Crawl whose URLs are fetched.")
@option.string(
    "--queue",
    "URL",
    "Address of a queue elsewhere; its token is in NWX_QUEUE_TOKEN.  [default: the archive's]",
)
@option.value(
    "--ahead",
    click.IntRange(1, 1000),
    None,
    "Number of URLs given to Heritrix at a time.",
    default=25,
)
@option.value(
    "--lease",
    option.Number(60, 86_400),
    "SECONDS",
    "Time after which an unfetched URL is given out again.",
    into="lease_seconds",
    default=3600.0,
)
@option.seconds("--interval", "Time between two checks of the job.", default=2.0, least=0.1)
@option.flag("--json", "Print counts as JSON lines.", into="as_json")
@click.pass_obj
def heritrix_command(
    settings: Settings,
    /,
    job: Path,
    crawl: str,
    queue: str,
    interval: float,
    as_json: bool,
    **given: Any,
) -> int:
    """Feed a Heritrix job from the crawler's queue.

    JOB is the folder of a job of Heritrix 3, with its crawler-beans.cxml. It gets the most
    relevant URLs first. Runs until Ctrl-C; the job may be stopped and relaunched meanwhile.
    URLs are written to the job's action directory. When its log shows that they were
    fetched, they are marked as done in the queue, and more follow. The job must not follow
    links by itself: docs/steering.md has the settings.
    """
    from nwx.steering.adapters.heritrix_feed import FeedOptions, HeritrixJob

    with opened_archive(settings) as archive, stop_signals() as received:
        if not HeritrixJob(job.absolute()).launch:
            warn(f"waiting until {job} is launched")
        elif not queue and not _has_urls(archive, crawl):
            warn(f"waiting for URLs of the crawl {crawl} in the queue")
        archive.feed_heritrix(
            job.absolute(),
            crawl,
            queue,
            FeedOptions(**given),
            interval=interval,
            stopping=lambda: bool(received),
            show=_print_json if as_json else _print,
            tell=lambda error, seconds: warn(f"{error}; trying again in {seconds:g} s"),
        )
    return 0


def _has_urls(archive: "Archive", crawl: str) -> bool:
    try:
        return archive.queue_counts(crawl)[0].waiting > 0
    except EngineError:  # `nwx watch --steer`, started beside it, makes the archive
        return False


def _print(counts: "FeedCounts") -> None:
    line = f"{counts.given:,} given, {counts.fetched:,} fetched"
    if counts.known:
        line += f", {counts.known:,} fetched before"
    if counts.unanswered:
        line += f", {counts.unanswered:,} never fetched"
    click.echo(line)
    sys.stdout.flush()


def _print_json(counts: "FeedCounts") -> None:
    click.echo(json_text(asdict(counts)))
    sys.stdout.flush()


_QUARTERS = 4


def _print_simulation(report: "SimulationReport") -> None:
    """Print the results of simulated crawls, at each quarter of the budget."""
    from nwx.cli.terminal import console  # help needs no rich
    from nwx.steering.comparison.simulation import THRESHOLDS

    console().print(_crawl_table(report))
    where = clean(report.collection) or "the archive"
    click.echo(
        f"{report.relevant_total:,} of {counted(report.pages, 'page')} of {where} are relevant"
        f" (score {report.threshold:g} and higher); {report.relevant_reachable:,} of the"
        f" {report.reachable:,} that links lead to"
    )
    by_score = (
        f"{pages:,} from {threshold:g}"
        for threshold, pages in zip(THRESHOLDS, report.scores, strict=True)
        if pages
    )
    click.echo(f"pages by score: {', '.join(by_score) or 'none'}")
    if report.judged:
        _print_precision(report.judged)
    for seed in report.missing_seeds:
        warn(f"the seed {clean(seed)} is not in {where}")
    if report.from_index:
        warn(
            f"{counted(report.from_index, 'page')} analysed from the indexed text, without the"
            " text around links: the records cannot be read"
        )
    if report.unreadable:
        warn(f"{counted(report.unreadable, 'page')} cannot be read")


def _print_precision(judged: "JudgedSample") -> None:
    precision = "none" if judged.precision is None else f"{judged.precision:.0%}"
    click.echo(
        f"{counted(judged.pages, 'page')} judged, {judged.relevant:,} relevant; scores find"
        f" {judged.found:,} of these and {judged.mistaken:,} others (precision {precision})"
    )


def _crawl_table(report: "SimulationReport") -> "Table":
    from nwx.cli.terminal import number_table

    crawls = {
        "breadth first": report.breadth_first,
        "steered": report.steered,
        "oracle": report.oracle,
    }
    places = {-(-report.budget * part // _QUARTERS) for part in range(1, _QUARTERS)}
    marks = [f"at {place:,}" for place in sorted(places)]
    table = number_table("crawl", "pages", "relevant", "harvest rate", *marks)
    for name, crawl in crawls.items():
        numbers = f"{crawl.fetched:,}", f"{crawl.relevant:,}", f"{crawl.harvest_rate:.1%}"
        table.add_row(name, *numbers, *(f"{_found(crawl, place):,}" for place in sorted(places)))
    return table


def _found(crawl: "SimulatedCrawl", pages: int) -> int:
    """Return the number of relevant pages among the first `pages` fetched."""
    return crawl.curve[min(pages, crawl.fetched) - 1] if crawl.fetched else 0
