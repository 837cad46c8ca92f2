"""nwx heritrix"""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.output import json_text, opened_archive, stop_signals, warn
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.adapters.heritrix_feed import FeedCounts


@click.command("heritrix")
@click.argument("job", metavar="JOB", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--crawl", required=True, metavar="NAME", help="Crawl whose URLs are fetched.")
@option.string(
    "--queue",
    "URL",
    "Address of a queue elsewhere; its token is in NWX_QUEUE_TOKEN.  [default: the archive's]",
)
@option.value(
    "--ahead", click.IntRange(1, 1000), None, "URLs that Heritrix has at a time.", default=25
)
@option.value(
    "--lease",
    click.FloatRange(60, 86_400),
    "SECONDS",
    "Time after which a URL that was not fetched is given again.",
    into="lease_seconds",
    default=3600.0,
)
@option.seconds("--interval", "Time between two looks at the job.", default=2.0, least=0.1)
@option.flag("--json", "Print counts as JSON lines.", into="as_json")
@click.pass_obj
def command(
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

    JOB is the folder of a job of Heritrix 3, with its crawler-beans.cxml. It
    gets the most relevant URLs first. Runs until Ctrl-C; the job may be
    launched, ended and launched again meanwhile. URLs go to the job's action
    directory. When its log says that they were fetched, they are noted as
    done in the queue, and more follow. The job must not follow links by
    itself: docs/steering.md has the settings.
    """
    from nwx.steering.adapters.heritrix_feed import FeedOptions

    with opened_archive(settings) as archive, stop_signals() as received:
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
