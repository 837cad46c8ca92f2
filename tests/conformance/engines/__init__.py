"""The engines that the suite runs on.

An engine joins with a line in ENGINES, and where it needs one with a module
here, which knows how to make archives of it.
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
    """What makes archives of an engine: a module or an object."""

    def new_archive(
        self, folder: Path, request: pytest.FixtureRequest
    ) -> AbstractContextManager[Opener]:
        """Give what opens an archive of its own, which has no indices yet, as often as wanted."""

    def recycled_archive(
        self, folder: Path, request: pytest.FixtureRequest
    ) -> AbstractContextManager[Engine]:
        """Give an empty open archive, whose indices other cases may have used before."""

    def make_older(self, engine: Engine) -> None:
        """Turn a closed archive into one of the first version, without facets and crawls."""

    def empty_queue(self, engine: Engine) -> None:
        """Forget all URLs, hosts and updates of the queue of an open archive."""

    def stored_files(self, engine: Engine, *, access: bool) -> Iterator[Path]:
        """Give all files of an open archive, those of the index access only with `access`."""

    def make_newer(self, engine: Engine) -> None:
        """Turn a closed archive into one of a version to come."""


ENGINES: Mapping[str, EngineUnderTest] = {
    "embedded": embedded,
    "elastic": SearchServerUnderTest("elasticsearch_url"),
    "opensearch": SearchServerUnderTest("opensearch_url"),
}
KINDS = tuple(ENGINES)


@contextmanager
def new_archive(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Give what opens an archive of its own, which has no indices yet, as often as wanted."""
    with ENGINES[kind].new_archive(folder, request) as opener:
        yield opener


@contextmanager
def recycled_archive(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Give an empty open archive, whose indices other cases may have used before."""
    with ENGINES[kind].recycled_archive(folder, request) as engine:
        yield engine
