"""The options that say what lines of an index are written of archive files."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from nwx.archive_cdx import IndexOptions

_Command = TypeVar("_Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--fields",
        type=click.Choice(["9", "11", "wget"]),
        default="11",
        show_default=True,
        help="Fields of a CDX line; wget: those that wget --warc-dedup reads.",
    ),
    click.option("--cdxj", is_flag=True, help="Write CDXJ."),
    click.option(
        "--sort/--no-sort",
        "in_order",
        default=True,
        show_default=True,
        help="Sort lines by bytes, as CDX look-ups need, or keep the order of the records.",
    ),
    click.option(
        "--post-append", is_flag=True, help="Add method and body of POST requests to the urlkey."
    ),
)


def index_options(command: _Command) -> _Command:
    """Give a command the options that say what lines are written."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def index_options_of(
    fields: str, *, cdxj: bool, in_order: bool, post_append: bool
) -> "IndexOptions":
    """Return what the options of `index_options` ask for."""
    # Imported here: whoever asks for help need not wait for it.
    from nwx.archive_cdx import IndexLineForm, IndexOptions

    known = IndexLineForm(fields if fields == IndexLineForm.WGET else f"cdx{fields}")
    form = IndexLineForm.CDXJ if cdxj else known
    return IndexOptions(form, in_order, post_append)
