"""The archive as a command may show it: as everybody sees it, or all of it."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.base import Engine
    from nwx.engine.quality.quality_index import PlaybackScore

_URL = re.compile(r"https?://[^\s'\"<>]+[^\s'\"<>.,:;)]")

UNRESTRICTED = "unrestricted"
"""The name of the option that has commands show everything."""


def is_unrestricted() -> bool:
    """Tell whether the command that runs was given `nwx --unrestricted`."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get(UNRESTRICTED))


@contextmanager
def open_for_reading(settings: Settings, *, writes: bool = False) -> Iterator["Engine"]:
    """Give the engine at `settings.engine` as everybody sees it, whole with `--unrestricted`.

    `writes` opens it for commands that put what they find into the queue.
    Raises what `open_engine` does.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.engine.open import open_engine

    with open_engine(settings, read_only=not writes) as engine:
        yield as_shown(engine)


def as_shown(engine: "Engine") -> "Engine":
    """Return an engine as the command may show it: itself without rules, or unrestricted."""
    from nwx.engine.access.rules import EVERYBODY

    if is_unrestricted() or not engine.access_index().rules().rules:
        return engine
    # Imported here: most archives have no rules, and this loads what reads their indices.
    from nwx.access.restricted.engines import restricted_to

    return restricted_to(engine, EVERYBODY)


def telling_visible(
    engine: "Engine", tell: Callable[["PlaybackScore"], object]
) -> Callable[["PlaybackScore"], object]:
    """Return what tells of scores as everybody may see them, of all with `--unrestricted`."""
    shown = as_shown(engine)
    if shown is engine:
        return tell
    from nwx.access.restricted.engine import RestrictedEngine

    assert isinstance(shown, RestrictedEngine)
    scores = shown.quality_index()

    def tell_visible(score: "PlaybackScore") -> None:
        for one in scores.shown([score]):
            tell(one)

    return tell_visible


def names_no_hidden_url(engine: "Engine", text: str) -> bool:
    """Tell whether a message may be printed: with `--unrestricted` any may."""
    return not as_shown(engine).hidden_urls(set(_URL.findall(text)))
