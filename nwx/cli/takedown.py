"""nwx takedown"""

import getpass
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nwx.cli.output import clean, counted, print_json
from nwx.cli.progress import progress_bar
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.access.rules import AccessRule
    from nwx.takedown.purge import PurgeReport

_RECORDS_SHOWN = 20


@click.command("takedown")
@click.argument("target", metavar="URL|DIGEST|FILE")
@click.option("--collection", default="", metavar="NAME", help="Only captures of this collection.")
@click.option("--from", "date_from", default="", metavar="DATE", help="Only from this date on.")
@click.option("--to", "date_to", default="", metavar="DATE", help="Only until this date.")
@click.option("--reason", default="", metavar="TEXT", help="Why; kept with the rule and its log.")
@click.option("--purge", is_flag=True, help="Remove the captures from all indices for good.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--quiet", is_flag=True, help="Show only errors.")
@click.pass_obj
def command(
    settings: Settings,
    /,
    target: str,
    collection: str,
    date_from: str,
    date_to: str,
    reason: str,
    purge: bool,
    as_json: bool,
    quiet: bool,
) -> int:
    """Take captures out of an archive.

    TARGET is a URL, a beginning of URLs that ends in *, a host or domain, a
    digest (sha1:…) or the name of an archive file. An access rule excludes
    the captures at once: nobody but curators and administrators finds them.
    `nwx access remove` takes the rule back.

    With --purge text, captures, dates and links are also removed from all
    indices and their files, and importing the same files again does not bring
    them back. This cannot be undone. If interrupted, run the same command
    again. Archive files are not changed: the report lists the records that
    still hold what was taken down. The exit code is 1 if deleted entries could
    not be erased from files that others were reading; run it again then.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import open_engine
    from nwx.takedown.rules import takedown_rule, takedown_scope

    with open_engine(settings) as engine:
        scope = takedown_scope(engine, target, collection, date_from, date_to)
        rule = takedown_rule(engine, scope, reason, getpass.getuser(), purged=purge)
        report = _purged(settings, engine, rule, quiet=quiet or as_json) if purge else None
    if as_json:
        print_json({"rule": _rule_json(rule), "purge": asdict(report) if report else None})
    else:
        _print(rule, report, quiet=quiet)
    return 1 if report and report.left else 0


def _purged(settings, engine, rule, *, quiet):
    from functools import partial

    from nwx.engine.open import open_engine
    from nwx.takedown.purge import Purge

    opening = partial(open_engine, settings, read_only=True)
    with progress_bar(quiet=quiet) as progress:
        return Purge(engine, settings, opening, rule, progress).run()
