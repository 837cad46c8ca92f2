"""Archives on Elasticsearch."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from tests.conformance.engines.search_server import (
    empty_queue,
    make_newer,
    make_older,
    new_archive_at,
    recycled_archive_at,
    stored_files,
)

__all__ = [
    "DIFFERENCES",
    "empty_queue",
    "make_newer",
    "make_older",
    "new_archive",
    "recycled_archive",
    "stored_files",
]

DIFFERENCES: Mapping[str, str] = {}


@contextmanager
def new_archive(folder: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], Engine]]:
    """Give what opens an archive of its own, which has no indices yet, as often as wanted."""
    with new_archive_at(request.getfixturevalue("elasticsearch_url")) as opener:
        yield opener


@contextmanager
def recycled_archive(folder: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Give an empty open archive, whose indices other cases may have used before."""
    with recycled_archive_at(request.getfixturevalue("elasticsearch_url")) as engine:
        yield engine
