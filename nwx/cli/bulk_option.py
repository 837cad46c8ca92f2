"""The option `--bulk` of commands that load much into a search server."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from nwx.settings import Settings


def bulk_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the option, given as `bulk`."""
    return click.option(
        "--bulk",
        is_flag=True,
        help="On a search server: load without replicas and refreshing; both are put back"
        " at the end, also where the import is killed.",
    )(command)


@contextmanager
def bulk_loading(settings: Settings, *, wanted: bool) -> Iterator[None]:
    """Give the indices of a search server the settings of bulk loading; a folder has none."""
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import is_server, open_engine

    if not wanted or not is_server(settings.engine):
        yield
        return
    with open_engine(settings) as engine:
        engine.create()
        with engine.shards().loading(settings):
            yield
