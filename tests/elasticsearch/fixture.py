"""The fixtures `elasticsearch_url` and `opensearch_url`."""

import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.elasticsearch.distribution import ELASTICSEARCH
from tests.elasticsearch.product import Product
from tests.elasticsearch.server import running
from tests.opensearch.distribution import OPENSEARCH

_OWN_RUN = uuid.uuid4().hex


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """The address of a real Elasticsearch: NWX_TEST_ELASTICSEARCH, or one started for this run.

    Workers of one run (pytest-xdist) share the server. It may contain other indices: use a unique
    prefix and remove your indices.
    """
    with _server(ELASTICSEARCH) as address:
        yield address


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """The address of a real OpenSearch as engine: NWX_TEST_OPENSEARCH, or one started."""
    with _server(OPENSEARCH) as address:
        yield f"opensearch+{address}"


@contextmanager
def _server(product: Product) -> Iterator[str]:
    given = os.environ.get(f"NWX_TEST_{product.name.upper()}")
    if given:
        yield given
        return
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", _OWN_RUN)
    state = Path(tempfile.gettempdir()) / f"nwx-{product.name}-{run}"
    with running(state, product) as address:
        yield address
