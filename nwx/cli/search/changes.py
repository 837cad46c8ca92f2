"""nwx changes"""

from collections import Counter
from typing import Any

import click

from nwx.cli import option
from nwx.cli.output import clean, counted, date_words, print_csv, print_json
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


@click.command("changes")
@click.argument("site")
@option.string("--since", "DATE", "Compare captures before this date with those from then on.")
@option.string("--to", "DATE", "Only captures until this date.")
@option.flag("--latest", "Compare the last version of each page with the one before it.")
@option.string("--webhook", "URL", "Send the changes to this address as JSON too.")
@option.count("--limit", "N", "So many pages at most.")
@option.CSV
@option.JSON
@click.pass_obj
def command(settings: Settings, /, as_csv: bool, as_json: bool, webhook: str, **asked: Any) -> None:
    """List the pages of a site that are gone, new or changed since a date.

    SITE is a domain with its hosts, a URL, or a beginning of URLs with * behind
    it. The last capture before --since is compared with the last one after it;
    without --since, the first with the last. The share is the part of the words
    that differ. What a host changes with every capture (dates, counters, sessions,
    adverts) is learned from its pages and does not count.
    """
    with opened_archive(settings) as archive:
        rows = archive.changes(**asked)
        found = list(rows)
    listed = [dict(zip(rows.columns, rows.cells(one), strict=True)) for one in found]
    if webhook and listed:
        from nwx.quality.monitor.report import Webhook  # help needs no requests

        Webhook(webhook).tell({"site": asked["site"], "changes": listed})
    if as_json:
        print_json(listed)
    elif as_csv:
        print_csv(rows.columns, (tuple(rows.cells(one)) for one in found))
    else:
        for one in found:
            span = f"{date_words(one.before) if one.before else '':10}  {date_words(one.after)}"
            click.echo(clean(f"{one.change:7}  {one.share:>4.0%}  {span}  {one.url}"))
        kinds = Counter(one.change.value for one in found)
        words = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
        click.echo(f"{counted(len(found), 'page')}{f': {words}' if words else ''}", err=True)
