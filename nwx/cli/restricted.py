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
def opened_archive(settings: Settings) -> Iterator["Archive"]:
    """Give the archive as everybody sees it, whole with `--unrestricted`."""
    from nwx.archive import Archive, named_viewer

    with Archive(
        settings, named_viewer("administrator" if is_unrestricted() else "reader")
    ) as archive:
        yield archive
