"""The archive as a command may show it: as everybody sees it, or all of it."""

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.archive import Archive
    from nwx.engine.base import Engine

UNRESTRICTED = "unrestricted"
"""The name of the option that has commands show everything."""


def is_unrestricted() -> bool:
    """Tell whether the command that runs was given `nwx --unrestricted`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get(UNRESTRICTED))


def command_user() -> str:
    """Return the name of the user who runs the command, as the log of changes has it."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@contextmanager
def open_for_reading(settings: Settings, *, writes: bool = False) -> Iterator["Engine"]:
    """Give the engine at `settings.engine` as everybody sees it, whole with `--unrestricted`.

    `writes` opens it for commands that put what they find into the queue.
    Raises what `open_engine` does.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import open_engine

    with open_engine(settings, read_only=not writes) as engine:
        yield engine if is_unrestricted() else as_everybody_sees(engine)


@contextmanager
def opened_archive(settings: Settings) -> Iterator["Archive"]:
    """Give the archive as everybody sees it, whole with `--unrestricted`."""
    # Imported here: whoever asks for help need not wait for it.
    from nwx.archive import Archive
    from nwx.engine.access.rules import EVERYBODY, Role, Viewer

    viewer = Viewer(role=Role.ADMINISTRATOR) if is_unrestricted() else EVERYBODY
    with Archive(settings, viewer) as archive:
        yield archive


def as_everybody_sees(engine: "Engine") -> "Engine":
    """Return an engine as a reader sees it of whom nothing is known: itself without rules."""
    from nwx.engine.access.rules import EVERYBODY

    if not engine.access_index().rules().rules:
        return engine
    # Imported here: most archives have no rules, and this loads what reads their indices.
    from nwx.access.restricted.engine import restricted_to

    return restricted_to(engine, EVERYBODY)
