"""nwx heritrix"""

import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.output import clean, json_text, warn
from nwx.cli.progress import stop_signals
from nwx.errors import NwxError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.steering.adapters.heritrix_feed import FeedCounts
    from nwx.steering.adapters.leases import UrlSource


@click.command("heritrix")
@click.argument("job", metavar="JOB", type=click.Path(path_type=Path, file_okay=False, exists=True))
@click.option("--crawl", required=True, metavar="NAME", help="Crawl whose URLs are fetched.")
@option.string(
    "--queue",
    "URL",
    "Address of a queue elsewhere; its token is in NWX_QUEUE_TOKEN.  [default: the archive's]",
)
@option.value(
    "--ahead", click.IntRange(1, 1000), None, "URLs that Heritrix has at a time.", default=50
)
@option.value(
    "--close-after",
    click.FloatRange(0),
    "SECONDS",
    "Time after which Heritrix closes a WARC file, so that nwx can read it; 0 for never.",
    default=60.0,
)
@option.value(
    "--lease",
    click.FloatRange(60, 86_400),
    "SECONDS",
    "Time after which a URL that was not fetched is given again.",
    default=3600.0,
)
@option.value(
    "--interval",
    click.FloatRange(0.1),
    "SECONDS",
    "Time between two looks at the job.",
    default=2.0,
)
@option.flag("--json", "Print counts as JSON lines.", into="as_json")
@click.pass_obj
def command(
    settings: Settings,
    job: Path,
    crawl: str,
    queue: str,
    ahead: int,
    close_after: float,
    lease: float,
    interval: float,
    as_json: bool,
) -> int:
    """Feed a Heritrix job from the crawler's queue.

    JOB is the folder of a job of Heritrix 3, with its crawler-beans.cxml. It
    gets the most relevant URLs first. Runs until Ctrl-C; the job may be
    launched, ended and launched again meanwhile. URLs go to the job's action
    directory. When its log says that they were fetched, they are noted as
    done in the queue, and more follow. The job must not follow links by
    itself: docs/steering.md has the settings.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.steering.adapters.feed_state import FeedState
    from nwx.steering.adapters.heritrix_feed import FeedOptions, HeritrixFeed, run_feed
    from nwx.steering.adapters.heritrix_job import HeritrixJob

    options = FeedOptions(ahead, lease, close_after)
    with ExitStack() as stack:
        folder = HeritrixJob(job.absolute())
        source = _source(settings, crawl, queue, stack)
        state = FeedState(job.absolute())
        stack.callback(state.close)
        received = stack.enter_context(stop_signals())
        feed = HeritrixFeed(folder, state, source, options)
        run_feed(feed, interval, lambda: bool(received), _print_json if as_json else _print, _warn)
    return 0


def _source(settings: Settings, crawl: str, queue: str, stack: ExitStack) -> "UrlSource":
    """Return the queue to take URLs from."""
    from nwx.engine.indices.crawl_queue import NO_LIMITS
    from nwx.engine.open import open_engine
    from nwx.steering.adapters.leases import ArchiveUrls
    from nwx.steering.queue.client import QueueClient
    from nwx.steering.specifications.specification_store import SpecificationLimits

    if queue:
        return stack.enter_context(QueueClient(queue, settings.queue_token, crawl))
    engine = stack.enter_context(open_engine(settings))
    # Heritrix has its own politeness.
    limits = SpecificationLimits(engine.crawl_index(), NO_LIMITS)
    return ArchiveUrls(engine.crawl_queue(), crawl, limits)


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


def _warn(error: NwxError, seconds: float) -> None:
    warn(f"{clean(str(error))}; trying again in {seconds:g} s")
