"""nwx show"""

from typing import TYPE_CHECKING

import click

from nwx.cli import option
from nwx.cli.output import clean, print_json, warn
from nwx.cli.restricted import open_for_reading
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.base import Engine


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
    # Imported here: whoever asks for help need not wait for it.
    from nwx.cli.search.tables import print_versions
    from nwx.searching.documents import id_of_key, versions

    asked = " ".join(key)
    with open_for_reading(settings) as engine:
        id = id_of_key(asked)
        if id is None:
            found = versions(engine, asked)
            if len(found) > 1:
                print_versions(found, as_json=as_json)
                return 0
            id = found[0].id if found else None
        return _show(engine, id, asked, text=text, as_json=as_json)


def _show(engine: "Engine", id: str | None, asked: str, *, text: bool, as_json: bool) -> int:
    from nwx.cli.search.tables import print_document
    from nwx.searching.documents import show

    shown = show(engine, id) if id else None
    if shown is None:
        warn(f"there is no document {clean(asked)} in {engine.address}")
        return 1
    if as_json:
        from nwx.searching.answers import answer_to_json, document_answer

        print_json(answer_to_json(document_answer(shown)))
    else:
        print_document(shown, text=text)
    return 0
