"""The archive as a command may show it: as everybody sees it, or all of it."""

from typing import TYPE_CHECKING

import click

from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.base import Engine

UNRESTRICTED = "unrestricted"
"""The name of the option that has commands show everything."""


def is_unrestricted() -> bool:
    """Tell whether the command that runs was given `nwx --unrestricted`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get(UNRESTRICTED))


def open_for_reading(settings: Settings, *, writes: bool = False) -> "Engine":
    """Return the engine at `settings.engine` as everybody sees it, whole with `--unrestricted`.

    `writes` opens it for commands that write what they found, to the queue
    for example. Close it after use; raises what `open_engine` does.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import open_engine

    return open_engine(settings, read_only=not writes)
