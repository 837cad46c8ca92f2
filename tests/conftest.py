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
"""Start early: a worker keeps the fixtures of its last module; pywb (zipnum) uses a full core."""
_SHORT_FOLDERS = tuple(Path(__file__).parent / name for name in ("unit", "golden"))
"""Each module is a group: pytest-xdist takes a millisecond per test for thousands of groups."""
_LONGEST_NAME = 60


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Disable garbage collection during test collection, which saves a quarter of its time.

    The collected objects live until the end: later garbage collections skip them.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_make_parametrize_id(val: object) -> str | None:
    """Return a shortened text as the id of its case.

    Workers send each other the names of all tests, and some texts have megabytes.
    """
    if isinstance(val, str | bytes) and len(val) > _LONGEST_NAME:
        return f"{val[:_LONGEST_NAME]!a}.. {len(val)}"
    return None


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests on real archive files if these are not next to the checkout.

    Tests of a module that are short or share a fixture form a group, so that one worker creates the
    fixture once.
    Long groups, each run by one worker, start first.
    """
    if not SHARED_DATA.is_dir():
        away = [item for item in items if "shared_data" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=away)
        items[:] = [item for item in items if item not in away]
    for item in items:
        if not _group(item) and (_is_short(item) or _is_sharing(item)):
            name = f"{item.path.parent.name}-{item.path.stem}"
            item.add_marker(pytest.mark.xdist_group(name))
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    """Return the position of a test in the order; sorting keeps the order within a position."""
    group = _group(item)
    if group in _LONG_GROUPS:
        return _LONG_GROUPS.index(group)
    is_long = item.path.parent.name in _LONG_FOLDERS
    return len(_LONG_GROUPS) if is_long else len(_LONG_GROUPS) + 1


def _is_short(item: pytest.Item) -> bool:
    return any(folder in item.path.parents for folder in _SHORT_FOLDERS)


def _is_sharing(item: pytest.Item) -> bool:
    """Return whether a test uses a module-scoped fixture."""
    info = item._fixtureinfo  # type: ignore[attr-defined]  # nothing public tells scopes
    return any(one.scope == "module" for defs in info.name2fixturedefs.values() for one in defs)


def _group(item: pytest.Item) -> str:
    mark = item.get_closest_marker("xdist_group")
    return str(mark.args[0]) if mark else ""


def pytest_collection_finish(session: pytest.Session) -> None:
    """Raise UsageError if the tests of a group would be split among workers.

    Each worker would create all archives of its modules and run each crawl.
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
    """The folder of real archive files that may exist next to the checkout."""
    return SHARED_DATA


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """An empty archive in the test's folder `archive`."""
    with open_engine(Settings(str(tmp_path / "archive"))) as opened:
        opened.create()
        yield opened


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let child processes receive SIGINT even if the tests run in the background of a shell.

    A shell makes its background jobs ignore SIGINT, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
