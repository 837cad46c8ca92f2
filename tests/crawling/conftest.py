"""Fixtures of tests with real crawlers."""

from collections.abc import Iterator

import pytest

from tests.crawling.heritrix.server import Heritrix, running_heritrix


@pytest.fixture(scope="session")
def heritrix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Heritrix]:
    """A running Heritrix, shared by the jobs of several tests."""
    with running_heritrix(tmp_path_factory.mktemp("heritrix")) as running:
        yield running
