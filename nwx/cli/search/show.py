"""nwx show, cite and quote"""

from typing import TYPE_CHECKING, Any

import click

from nwx.cli import option
from nwx.cli.options import date_options
from nwx.cli.output import (
    clean,
    clean_lines,
    counted,
    date_words,
    opened_archive,
    print_answer,
    print_json,
    warn,
)
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.searching.quotations import Quotation


@click.command("show")
@click.argument("key", nargs=-1, required=True)
@click.option("--text/--no-text", default=True, help="Show the extracted text too (default).")
@option.JSON
@click.pass_obj
def show_command(settings: Settings, key: tuple[str, ...], text: bool, as_json: bool) -> int:
    """Show a document with its dates and the places of its records.

    KEY is `<url> <digest>` (quoted or not), the id of a document, or a URL:
    its only version, or the list of its versions.
    """
    from nwx.cli.search.tables import print_document, print_versions

    asked = " ".join(key)
    with opened_archive(settings) as archive:
        found = archive.document_or_versions(asked)
        address = archive.address
    if found is None:
        warn(f"there is no document {asked} in {address}")
        return 1
    if isinstance(found, list):
        print_versions(found, as_json=as_json)
    elif as_json:
        from nwx.searching.answers import answer_to_json, document_answer

        print_json(answer_to_json(document_answer(found)))
    else:
        print_document(found, text=text)
    return 0


@click.command("cite")
@click.argument("url")
@option.string("--at", "DATE", "The capture nearest to this date.  [default: the newest]")
@option.choice_of(
    "--format",
    ("pwid", "memento", "bibtex", "ris", "csl-json"),
    "How to cite it.",
    into="form",
    default="bibtex",
)
@option.string("--name", "TEXT", "Name of the archive.  [default: the host of NWX_PUBLIC_URL]")
@click.pass_obj
def cite_command(settings: Settings, url: str, at: str, form: str, name: str) -> int:
    """Print the citation of a capture.

    NWX_PUBLIC_URL is the address at which readers find the archive; citations
    and replay addresses begin with it.
    """
    with opened_archive(settings) as archive:
        found = archive.capture(url, at)
        citation = found and found.cite(name)
    if not citation:
        warn(f"there is no capture of {url}")
        return 1
    from nwx.answers.citations import CITATION_FORMS

    click.echo(clean_lines(CITATION_FORMS[form](citation)), nl=False)
    return 0


_VERSIONS_SHOWN = 20


@click.command("quote")
@click.argument("text")
@option.string("--url", "URL", "Look at all versions of this URL.")
@option.string("--site", "NAME", "Look at the documents of this domain or host.")
@date_options
@option.JSON
@click.pass_obj
def quote_command(settings: Settings, /, text: str, *, as_json: bool, **asked: Any) -> int:
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
        _print_quotation(found)
    return 0 if found.verified else 1


def _print_quotation(found: "Quotation") -> None:
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
    for version in found.versions[:_VERSIONS_SHOWN]:
        place = f"{version.part} {version.start}-{version.end}"
        click.echo(f"  {version.timestamps[0]} {clean(version.url)} {place} {version.digest}")
    if len(found.versions) > _VERSIONS_SHOWN:
        click.echo(f"  … and {counted(len(found.versions) - _VERSIONS_SHOWN, 'more version')}")
    click.echo(compared)
