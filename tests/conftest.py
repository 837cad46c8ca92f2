"""Fixtures for all tests."""

import gc
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.settings import Settings
from tests.elasticsearch.fixture import elasticsearch_url, opensearch_url
from tests.spark.fixture import spark

__all__ = ["elasticsearch_url", "opensearch_url", "spark"]

SHARED_DATA = Path(__file__).parent.parent.parent / "shared" / "data"


_LONG_GROUPS = (
    "spark",
    "heritrix",
    "browser",
    "replay",
    "warcprox",
    "scrapy",
    "test_no_trace",
    "nodes",
)
_LONG_FOLDERS = ("rendering", "packaging", "zipnum")
"""The last module holds its fixtures until all tests end; pywb (zipnum) takes a processor."""
_LONGEST_NAME = 60


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect tests without looking for garbage, which takes a quarter of that time.

    What they are made of is there to the end: later looks for garbage leave it out.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Return the beginning of a long text as the name of its case.

    Processes send each other the names of all tests, and some texts have megabytes.
    """
    if isinstance(val, str | bytes) and len(val) > _LONGEST_NAME:
        return f"{val[:_LONGEST_NAME]!a}.. {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests on real archive files where those are not beside the checkout.

    Tests of a module that share something are a group: one process makes it once.
    Long groups, which one process runs, begin first.
    """
    if not SHARED_DATA.is_dir():
        away = [item for item in items if "shared_data" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=away)
        items[:] = [item for item in items if item not in away]
    for item in items:
        if not _group(item) and _is_sharing(item):
            name = f"{item.path.parent.name}-{item.path.stem}"
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Return when a test has its turn; among those of the same turn the order is kept."""
    group = _group(item)
    if group in _LONG_GROUPS:
        return _LONG_GROUPS.index(group)
    is_long = item.path.parent.name in _LONG_FOLDERS
    return len(_LONG_GROUPS) if is_long else len(_LONG_GROUPS) + 1


def _is_sharing(item: pytest.Item) -> bool:
    """Return whether a test uses a fixture of its module."""
    info = item._fixtureinfo  # type: ignore[attr-defined]  # nothing public tells scopes
    return any(one.scope == "module" for defs in info.name2fixturedefs.values() for one in defs)


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark else ""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Refuse to run where the tests of a group would not run in one process.

    Each process would make all archives of its modules, and run each crawl.
    """
    if not session.config.getoption("loadgroup", default=False):
        return
    if torn := [item.nodeid for item in session.items if _group(item) and "@" not in item.nodeid]:
        raise pytest.UsageError(
            f"this pytest-xdist does not keep the group of {torn[0]} together with this pytest; "
            "install the versions of requirements.lock"
        )


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real archive files that may lie beside the checkout."""
    return SHARED_DATA


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An empty archive in the folder `archive` of the test."""
    with open_engine(Settings(str(tmp_path / "archive"))) as opened:
        opened.create()
        yield opened


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let children be interrupted, also where the tests run in the background of a shell.

    A shell makes its background jobs ignore SIGINT, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
