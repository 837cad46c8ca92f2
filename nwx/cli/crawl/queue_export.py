"""nwx queue export"""

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.restricted import open_for_reading
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.indices.crawl_queue import QueuedUrl
    from nwx.steering.adapters.leases import UrlSource


_FORMS = ("urls", "browsertrix", "brozzler", "heritrix-schedule", "heritrix-include")
_TAKE_SECONDS = 3600.0
_AT_ONCE = 1_000


@click.command("export")
@option.string("--crawl", "NAME", "Only of this crawl.  [default: all]")
@option.choice_of("--format", _FORMS, "What the crawler reads.", into="form", default="urls")
@option.count("--limit", "N", "Number of URLs at most.", default=1000)
@option.value(
    "--min-priority",
    click.FloatRange(0, 1),
    "P",
    "Only URLs with this priority or a higher one.",
    default=0.0,
)
@option.flag("--take", "Note them as fetched: the next export has others.")
@click.pass_obj
def export_urls(
    settings: Settings, crawl: str, form: str, limit: int, min_priority: float, take: bool
) -> None:
    """Print waiting URLs as a seed file, the most relevant first.

    Formats: urls (one per line, for wget and others), browsertrix and brozzler
    (YAML: each page alone, no links are followed), heritrix-schedule (for the
    action directory), heritrix-include (the blacklisted URLs, which Heritrix
    then never fetches).
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.indices.crawl_queue import NO_LIMITS
    from nwx.steering.adapters.heritrix_job import SeedForm, best_waiting, blacklisted, seed_file
    from nwx.steering.adapters.leases import ArchiveUrls
    from nwx.steering.specifications.specification_store import SpecificationLimits

    chosen = SeedForm(form)
    with open_for_reading(settings, writes=take) as engine:
        queue = engine.crawl_queue()
        found: Sequence[QueuedUrl]
        if chosen is SeedForm.HERITRIX_INCLUDE:
            found = list(islice(blacklisted(queue.scan(crawl)), limit))
        elif take:
            limits = SpecificationLimits(engine.crawl_index(), NO_LIMITS)
            found = _leased(ArchiveUrls(queue, crawl, limits), limit, min_priority)
        else:
            found = best_waiting(queue.scan(crawl), limit, min_priority)
        for line in seed_file(found, chosen, crawl):
            click.echo(line)
        if take:
            queue.finish([each.lease for each in found if each.lease])


def _leased(source: "UrlSource", limit: int, least: float) -> "list[QueuedUrl]":
    """Return the best waiting URLs, leased; what is below `least` is given back."""
    taken: list[QueuedUrl] = []
    while leased := source.lease(min(limit - len(taken), _AT_ONCE), _TAKE_SECONDS):
        good = [each for each in leased if (each.priority or 0.0) >= least]
        taken += good
        if len(good) < len(leased):
            source.release([each.lease for each in leased if (each.priority or 0.0) < least])
            break
        if len(taken) == limit:
            break
    return taken
