"""nwx cite"""

import click

from nwx.cli import option
from nwx.cli.output import clean_lines, warn
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


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
def command(settings: Settings, url: str, at: str, form: str, name: str) -> int:
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
