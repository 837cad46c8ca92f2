"""Settings for bulk loading: failures around them neither hide errors nor end other work."""

from multiprocessing.connection import Connection

import pytest

from nwx.bulk.child_processes import ChildProcess
from nwx.engine.search_server import bulk_load
from nwx.engine.search_server.bulk_load import BulkLoading, loading
from nwx.engine.search_server.schema import Schema
from nwx.errors import EngineError
from nwx.settings import ServerSettings, Settings
from tests.unit.engine.search_server.fake_server import Reply, refusal, serving


class Holders(BulkLoading):
    """The names of the loading processes, in order."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.ended: list[str] = []

    def begin(self, holder: str) -> None:
        self.begun.append(holder)

    def end(self, holder: str) -> None:
        self.ended.append(holder)


START_GUARD = bulk_load._start_guard


def end_at_once(connection: Connection) -> None:
    """End immediately."""


def killed_process(*_: object) -> ChildProcess:
    process = ChildProcess(end_at_once)
    process.death()
    return process


@pytest.fixture(autouse=True)
def guard_that_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_load, "_start_guard", killed_process)


def test_a_guard_that_was_killed_ends_no_import() -> None:
    holders = Holders()
    with loading(holders, Settings()):
        assert len(holders.begun) == 1
    assert holders.ended == holders.begun


def test_nothing_is_loaded_without_a_guard(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unhandled broken pipe would end the command as if it had succeeded."""
    monkeypatch.setattr(bulk_load, "_start_guard", START_GUARD)
    monkeypatch.setattr(bulk_load, "ChildProcess", killed_process)
    holders = Holders()
    with pytest.raises(EngineError, match="ended at once"), loading(holders, Settings()):
        pass
    assert holders.begun == []


def test_two_loads_never_have_the_same_name() -> None:
    holders = Holders()
    for _ in range(2):
        with loading(holders, Settings()):
            pass
    assert len(set(holders.begun)) == 2


def test_a_load_that_cannot_begin_says_why() -> None:
    def answer(_: int, path: str, body: bytes) -> Reply:
        if "_mget" in path:
            return 200, {"docs": [{"_id": "loading", **refusal("index_not_found_exception")}]}
        return 403, refusal("security_exception", "no rights to make nwx-loading")

    with serving(answer) as (fake, server):
        settings = ServerSettings()
        state = BulkLoading(server, Schema(server, settings), settings)
        with (
            pytest.raises(EngineError, match="no rights to make nwx-loading"),
            loading(state, Settings()),
        ):
            pass
        assert [path.split("?")[0] for path, *_ in fake.requests] == [
            "/nwx-loading-000001",
            "/nwx-loading/_mget",
        ]
