"""Fixtures of the conformance suite: every case runs on every engine.

Modules with `ABOVE_ENGINES`, or the cases listed in it, send OpenSearch no request of a kind that
others do not also send. They run in a folder and on Elasticsearch; on OpenSearch only if the
environment names one: NWX_TEST_OPENSEARCH or NWX_TEST_OPENSEARCH_VERSION.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.search_server import schema
from tests.conformance.engines import (
    KINDS,
    Opener,
    new_archive,
    recycled_archive,
)
from tests.conformance.engines.search_server import remove_recycled

HERE = Path(__file__).parent
_IS_OPENSEARCH_NAMED = any(name.startswith("NWX_TEST_OPENSEARCH") for name in os.environ)


@pytest.fixture(scope="module", params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """The name of an engine."""
    found: str = request.param
    return found


@pytest.fixture
def open_archive(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Opener]:
    """Opens an archive without indices."""
    with new_archive(kind, tmp_path_factory.mktemp(kind), request) as opener:
        yield opener


@pytest.fixture
def open_another(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Opener]:
    """Opens another archive of the same engine, without indices."""
    with new_archive(kind, tmp_path_factory.mktemp(kind), request) as opener:
        yield opener


@pytest.fixture
def engine(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """An empty archive; the same as `open_archive` opens in cases that use both.

    In modules with `NEW_ARCHIVES` its indices have never been used.
    """
    is_new = getattr(request.module, "NEW_ARCHIVES", False)
    if is_new or "open_archive" in request.fixturenames:
        with request.getfixturevalue("open_archive")() as opened:
            opened.create()
            yield opened
    else:
        with recycled_archive(kind, tmp_path_factory.mktemp(kind), request) as opened:
            yield opened


@pytest.fixture(scope="session", autouse=True)
def _removed() -> Iterator[None]:
    """Delete the recycled indices at the end."""
    yield
    remove_recycled()


@pytest.fixture(scope="module", autouse=True)
def _dates_of_entry(request: pytest.FixtureRequest) -> Iterator[None]:
    """Limit the size of date entries on a server in modules with `DATES_OF_ENTRY`.

    Documents then have several entries.
    """
    usual = schema.DATES_OF_ENTRY
    schema.DATES_OF_ENTRY = getattr(request.module, "DATES_OF_ENTRY", usual)
    yield
    schema.DATES_OF_ENTRY = usual


@pytest.fixture(scope="session", autouse=True)
def _looked_up() -> None:
    """Compare documents by a server-side script even for short lists."""
    schema.LOOKED_UP = 0


@pytest.fixture(scope="module")
def archive(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """The archive of a module, filled with its BATCHES, for cases that only read."""
    folder = tmp_path_factory.mktemp(kind)
    with new_archive(kind, folder, request) as opener, opener() as opened:
        opened.create()
        for batch in request.module.BATCHES:
            opened.write(batch)
        opened.refresh()
        yield opened


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the cases of one archive in one process."""
    config.hook.pytest_deselected(items=[item for item in items if not _is_wanted(item)])
    items[:] = [item for item in items if _is_wanted(item)]
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


def _is_wanted(item: pytest.Item) -> bool:
    if item.path.parent != HERE or _IS_OPENSEARCH_NAMED or _kind(item) != "opensearch":
        return True
    above = getattr(item.module, "ABOVE_ENGINES", ())  # type: ignore[attr-defined]
    return above is not True and item.originalname not in above  # type: ignore[attr-defined]


def _kind(item: pytest.Item) -> str | None:
    call = getattr(item, "callspec", None)
    return call.params.get("kind") if call else None
