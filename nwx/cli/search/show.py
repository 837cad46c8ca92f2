"""nwx show"""

import click

from nwx.cli import option
from nwx.cli.output import print_json, warn
from nwx.cli.restricted import opened_archive
from nwx.settings import Settings


@click.command("show")
@click.argument("key", nargs=-1, required=True)
@click.option("--text/--no-text", default=True, help="Show the extracted text too (default).")
@option.JSON
@click.pass_obj
def command(settings: Settings, key: tuple[str, ...], text: bool, as_json: bool) -> int:
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
