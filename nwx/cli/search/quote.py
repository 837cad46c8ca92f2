"""nwx quote"""

from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.options import date_options
from nwx.cli.output import clean, counted, date_words, print_answer
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.searching.quotations import Quotation

_SHOWN = 20


@click.command("quote")
@click.argument("text")
@option.string("--url", "URL", "Look at all versions of this URL.")
@option.string("--site", "NAME", "Look at the documents of this domain or host.")
@date_options
@option.JSON
@click.pass_obj
def command(settings: Settings, /, text: str, *, as_json: bool, **asked: Any) -> int:
    """Show in which captures quoted words stand, since when and until when.

    The words must stand there exactly: white space, Unicode forms and shapes of
    quotation marks do not matter, case and every other sign do. Without --url, those
    of the documents are read that the index finds, at most 10,000. Exits with 1 if the
    words stand nowhere.
    """
    with opened_archive(settings) as archive:
        found = archive.quote(text, **asked)
    if as_json:
        print_answer(found)
    else:
        _print(found)
    return 0 if found.verified else 1


def _print(found: "Quotation") -> None:
    compared = f"{counted(found.compared, 'document')} compared"
    if not found.complete:
        compared += "; there are more, so name a URL or a site"
    if not found.verified:
        click.echo(f"these words stand in no capture ({compared})")
        return
    for one in found.periods:
        before = f", not yet on {date_words(one.before)}" if one.before else ""
        after = f", no more on {date_words(one.after)}" if one.after else ""
        span = f"{date_words(one.first)} to {date_words(one.last)}"
        click.echo(f"{span}: {counted(one.captures, 'capture')}{before}{after}")
    for version in found.versions[:_SHOWN]:
        place = f"{version.part} {version.start}-{version.end}"
        click.echo(f"  {version.timestamps[0]} {clean(version.url)} {place} {version.digest}")
    if len(found.versions) > _SHOWN:
        click.echo(f"  … and {counted(len(found.versions) - _SHOWN, 'more version')}")
    click.echo(compared)
