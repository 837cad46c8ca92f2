"""nwx dates"""

from dataclasses import asdict

import click

from nwx.cli import option
from nwx.cli.output import clean, print_above, print_json, progress_bar, size_words, warn
from nwx.cli.restricted import opened_archive
from nwx.model import NamedDates
from nwx.settings import Settings


@click.group("dates")
def command() -> None:
    """List, attach and detach dates indices.

    An archive has its own dates index, `main`, and other dates indices can be
    attached to it: every search, filter, count and page then uses their dates
    too. No document is written again.
    """


@command.command("list")
@option.JSON
@click.pass_obj
def list_indices(settings: Settings, as_json: bool) -> int:
    """List the dates indices of the archive, attached or not.

    The exit code is 1 if an attached index cannot be read.
    """
    with opened_archive(settings) as archive:
        indices = archive.dates_indices()
    if as_json:
        print_json([asdict(one) for one in indices])
    else:
        _print(indices)
    return 1 if any(one.attached and one.problem for one in indices) else 0


def _print(indices: list[NamedDates]) -> None:
    from nwx.cli.terminal import console, plain_table

    numbers = ("keys", "dates", "size")
    table = plain_table("index", *numbers, "", "place", right=numbers, fold=("place",))
    for one in indices:
        counts = ["" if count is None else f"{count:,}" for count in (one.entries, one.dates)]
        state = "attached" if one.attached else "not attached"
        table.add_row(one.name, *counts, size_words(one.bytes), state, clean(one.address))
    console().print(table)
    for one in indices:
        if one.problem:
            warn(f"{one.name}: {one.problem}")


@command.command()
@click.argument("name")
@click.argument("place", default="")
@click.pass_obj
def attach(settings: Settings, name: str, place: str) -> None:
    """Attach a dates index under NAME.

    PLACE is a folder (a dates index, or an archive, whose own dates are used),
    or an index on the archive's server. Without PLACE, it is the index
    of that name that the archive already has.
    """
    with opened_archive(settings) as archive:
        archive.attach_dates(name, place)


@command.command()
@click.argument("name")
@click.pass_obj
def detach(settings: Settings, name: str) -> None:
    """Detach a dates index and keep its contents."""
    with opened_archive(settings) as archive:
        archive.detach_dates(name)


@command.command()
@click.argument("name")
@click.pass_obj
def drop(settings: Settings, name: str) -> None:
    """Detach a dates index that the archive made, and delete it."""
    with opened_archive(settings) as archive:
        archive.detach_dates(name, drop=True)


@command.command("orphans")
@option.flag("--json", "Print JSON lines.", into="as_json")
@option.flag("--quiet", "Show no progress, only errors.")
@click.pass_obj
def list_orphans(settings: Settings, as_json: bool, quiet: bool) -> None:
    """List the dates, in all indices, of keys without a document.

    Lines have the form `date digest url`, which add-dates reads.
    """
    from nwx.cdx.rows import safe_field

    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        for one in archive.orphan_dates(progress):
            url, digest = one.key.split(" ")[:2]
            for timestamp, collection in one.seen:
                found = {"url": url, "digest": digest, "timestamp": timestamp}
                if as_json:
                    print_json(found | {"collection": collection})
                else:
                    print_above(clean(f"{timestamp} {safe_field(digest)} {url}"))
