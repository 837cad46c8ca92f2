"""What checks of playback need beside a browser: the player, and a file for renders."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nwx.cli.output import clean
from nwx.errors import SourceError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.model import Comparison, RenderPlace
    from nwx.quality.browser.targets import ArchivePlayback, PageRender
    from nwx.quality.playback.check import StoreRender

_FOLDER, _FOLDER_HERE = "renders", "nwx-renders"


@contextmanager
def playback_target(settings: Settings, playback: str) -> "Iterator[ArchivePlayback]":
    """Give playback at an address, or one that is started for this and ends with it.

    Raises UsageError for an address that cannot be that of playback, and
    SourceError where nothing answers.
    """
    from nwx.quality.browser.targets import ArchivePlayback

    if playback:
        running = ArchivePlayback(playback)
        running.check()
        yield running
        return
    from webapp.server.local_playback import local_playback

    with local_playback(settings) as prefix:
        yield ArchivePlayback(prefix)


def player_answers(target: "ArchivePlayback") -> bool:
    """Tell whether anything listens where playback is."""
    try:
        target.check()
    except SourceError:
        return False
    return True


def echo_note(text: str) -> None:
    """Print a note on standard error."""
    click.echo(f"nwx: {clean(text)}", err=True)


@contextmanager
def kept_renders(
    settings: Settings,
    out: Path | None,
    comparison: bool,
    *,
    kept: bool = True,
    say: Callable[[str], object] = echo_note,
) -> "Iterator[StoreRender]":
    """Give what writes renders to a WARC file; where nobody named one, it is made with the first.

    `say` is told where it is, if it is here. Raises SourceError where the
    file that was named cannot be written.
    """
    if not kept:
        yield lambda render, compared: None
        return
    from nwx.quality.renders.render_writer import RenderWriter
    from nwx.values.render_names import RenderKind

    path = out or _usual_file(settings, say)
    with ExitStack() as stack:
        writers = [stack.enter_context(RenderWriter(path))] if out else []

        def store(render: "PageRender", compared: "Comparison") -> "RenderPlace | None":
            if not writers:
                writers.append(stack.enter_context(RenderWriter(path)))
            written = writers[0].write(render, compared if comparison else None)
            return written.places.get(RenderKind.VIEW)

        yield store


def _usual_file(settings: Settings, say: Callable[[str], object]) -> Path:
    """Return a new file beside the archive, or here where that is on a server, and say so."""
    name = f"playback-{datetime.now(UTC):%Y%m%d%H%M%S}.warc.gz"
    if "://" not in settings.engine:
        return Path(settings.engine).absolute() / _FOLDER / name
    path = Path(_FOLDER_HERE).absolute() / name
    say(f"renders are written to {path}")
    return path
