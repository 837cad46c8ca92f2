"""Commands that check playback, with a fake browser and player."""

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Self
from unittest.mock import patch

from nwx.cli.main import main
from nwx.cli.quality.check_playback import check_arriving_pages
from nwx.quality.browser.targets import ArchivePlayback, PageRender, PlayedResource, RenderTask

COMMAND_LINE = "from tests.cli.made_up_browser import run_with_it; run_with_it()"
"""Python code that stands in for the command `nwx`."""

LOGO = "http://a.example/logo.png"


class _MadeUpPool:
    """Renders pages without their logo."""

    sandbox = False

    def __init__(self, *given: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def render(self, tasks: Iterable[RenderTask]) -> Iterator[PageRender]:
        for task in tasks:
            page = PlayedResource(task.url, 200, timestamp=task.timestamp)
            logo = PlayedResource(LOGO, 404, type="image")
            yield PageRender(task, view=b"\x89PNG", resources=(page, logo), status=200)


@contextmanager
def _no_player(*given: object) -> Iterator[ArchivePlayback]:
    yield ArchivePlayback("http://127.0.0.1:9/replay")


@contextmanager
def _made_up() -> Iterator[None]:
    with (
        patch("nwx.quality.browser.pool.BrowserPool", _MadeUpPool),
        patch("nwx.quality.browser.pool.browser_path", lambda asked: asked),
        patch("nwx.quality.arrivals.BrowserPool", _MadeUpPool),
        patch("nwx.quality.arrivals.browser_path", lambda asked: asked),
        patch("nwx.cli.quality.check_playback.playback_target", _no_player),
        patch("nwx.quality.arrivals._WAIT_SECONDS", 0.0),
    ):
        yield


def check_with_it(connection: Connection) -> None:
    """Check the pages received on a connection."""
    with _made_up():
        check_arriving_pages(connection)


def die(connection: Connection) -> None:
    """Receive a page and exit."""
    connection.recv()
    os._exit(9)


def die_in_a_message(connection: Connection) -> None:
    """Receive a page and exit in the middle of a message to the parent."""
    connection.recv()
    os.write(connection.fileno(), b"\x00\x00\x01\x00half")
    os._exit(9)


def run_with_it() -> None:
    """Run the command named by the process arguments."""
    with _made_up():
        main()
