"""nwx compare"""

import click

from nwx.cli import option
from nwx.cli.output import print_json, progress_bar
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


@click.command("compare")
@click.argument("a", metavar="A")
@click.argument("b", metavar="[B]", required=False, default="")
@option.string(
    "--spec",
    "SPEC",
    "Tell relevance by this specification: a TOML or JSON file, or a name in the archive.",
    into="specification",
)
@option.JSON
@option.NO_PROGRESS
@click.pass_obj
def command(
    settings: Settings, a: str, b: str, specification: str, as_json: bool, quiet: bool
) -> None:
    """Compare two collections, or a collection with a crawl specification.

    A is a collection, B another one, or a specification: the name of one in the
    archive, or a TOML or JSON file. Captures, errors, duplicates and freshness are
    counted for each collection, and what both have: URLs, hosts and documents. Where
    playback was checked (`nwx check-playback`): scores, faults, missing resources,
    and pages that play worse or better in B than in A. With a specification, how
    relevant the documents are, and how the harvest rate went over time; documents
    that were not analysed yet (`nwx steer`) are analysed for the answer, which
    takes a while and is not kept.
    """
    with opened_archive(settings) as archive, progress_bar(quiet=quiet) as progress:
        found = archive.compare(a, b, specification, progress)
    if as_json:
        from nwx.steering.comparison.comparison_json import comparison_json

        print_json(comparison_json(found))
        return
    from nwx.cli.crawl.tables import print_comparison  # help needs no rich

    print_comparison(found)
