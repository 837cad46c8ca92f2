"""The engines that the suite runs on.

To add an engine, add a line to ENGINES and, if needed, a module here that creates its archives.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest

from nwx.engine.base import Engine
from tests.conformance.engines import embedded
from tests.conformance.engines.search_server import SearchServerUnderTest

Opener = Callable[[], Engine]


class EngineUnderTest(Protocol):
    """Creates archives of an engine: a module or an object."""

    def new_archive(
        self, folder: Path, request: pytest.FixtureRequest
    ) -> AbstractContextManager[Opener]:
        """Yield a function that opens a new archive without indices, any number of times."""

    def recycled_archive(
        self, folder: Path, request: pytest.FixtureRequest
    ) -> AbstractContextManager[Engine]:
        """Yield an empty open archive, whose indices may be recycled from other cases."""

    def make_older(self, engine: Engine) -> None:
        """Downgrade a closed archive to the first version, without facets and crawls."""

    def empty_queue(self, engine: Engine) -> None:
        """Remove all URLs, hosts and updates from the queue of an open archive."""

    def stored_files(self, engine: Engine, *, access: bool) -> Iterator[Path]:
        """Yield all files of an open archive, those of the access index only with `access`."""

    def make_newer(self, engine: Engine) -> None:
        """Mark a closed archive as one of a future version."""


ENGINES: Mapping[str, EngineUnderTest] = {
    "embedded": embedded,
    "elastic": SearchServerUnderTest("elasticsearch_url"),
    "opensearch": SearchServerUnderTest("opensearch_url"),
}
KINDS = tuple(ENGINES)


@contextmanager
def new_archive(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Yield a function that opens a new archive without indices, any number of times."""
    with ENGINES[kind].new_archive(folder, request) as opener:
        yield opener


@contextmanager
def recycled_archive(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Yield an empty open archive, whose indices may be recycled from other cases."""
    with ENGINES[kind].recycled_archive(folder, request) as engine:
        yield engine
