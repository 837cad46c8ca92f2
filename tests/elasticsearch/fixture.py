"""The fixture `elasticsearch_url`."""

import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.elasticsearch.server import running

_OWN_RUN = uuid.uuid4().hex


@pytest.fixture(scope="session")
def elasticsearch_url() -> Iterator[str]:
    """The address of a real Elasticsearch: NWX_TEST_ELASTICSEARCH, or one started for this run.

    Processes of one run (pytest-xdist) share the server. It may hold indices
    of others: take a prefix of your own and remove what you made.
    """
    given = os.environ.get("NWX_TEST_ELASTICSEARCH")
    if given:
        yield given
        return
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", _OWN_RUN)
    with running(Path(tempfile.gettempdir()) / f"nwx-elasticsearch-{run}") as address:
        yield address
