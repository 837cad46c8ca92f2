"""The option --extractor of the commands that import."""

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from nwx.extract.extractors import Extractor


def _extractors(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> "tuple[Extractor, ...]":
    if not values:
        return ()
    from nwx.extract.extractors import extractor_of  # loads what extracts, for few

    return tuple(map(extractor_of, values))


extractor_option = click.option(
    "--extractor",
    "extractors",
    multiple=True,
    metavar="TYPE=COMMAND",
    callback=_extractors,
    help="Ask COMMAND for the text of payloads of TYPE (image/*) in which nwx finds none: it gets"
    " the payload on standard input and writes UTF-8 text. Repeatable.",
)
