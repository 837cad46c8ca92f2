"""The upgrade steps required for an archive of an older version."""

from pathlib import Path

import pytest

from nwx.engine.base import Migration, engine_package, is_server, open_engine, pending_migrations
from nwx.errors import UsageError
from nwx.model import IndexName
from nwx.settings import Settings


def test_steps_that_were_not_taken_come_in_their_order() -> None:
    taken: list[str] = []
    steps: list[Migration[list[str]]] = [
        Migration(3, "third", lambda log: log.append("third")),
        Migration(1, "first", lambda log: log.append("first")),
        Migration(2, "second", lambda log: log.append("second")),
    ]
    for step in pending_migrations(steps, 1):
        step.apply(taken)
    assert taken == ["second", "third"]


def test_an_archive_of_now_has_no_steps_to_take() -> None:
    steps: list[Migration[list[str]]] = [Migration(1, "first", lambda log: log.append("first"))]
    assert pending_migrations(steps, 1) == ()
    assert [step.number for step in pending_migrations(steps, 0)] == [1]


@pytest.mark.parametrize(
    ("address", "package", "server"),
    [
        ("/some/folder", "nwx.engine.embedded", False),
        ("archive", "nwx.engine.embedded", False),
        ("http://localhost:9200", "nwx.engine.server_engines", True),
        ("https://user@host.example/", "nwx.engine.server_engines", True),
    ],
)
def test_the_scheme_tells_the_engine(address: str, package: str, server: bool) -> None:
    assert engine_package(address) == package
    assert is_server(address) is server


def test_an_unknown_scheme_is_a_usage_error() -> None:
    assert not is_server("ftp://host.example")
    with pytest.raises(UsageError, match="unknown scheme 'ftp'"):
        engine_package("ftp://host.example")


@pytest.mark.parametrize("address", ["localhost:9200", "search.example:9200/", "[::1]:9200"])
def test_a_server_without_a_scheme_makes_no_folder(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"opensearch\+http://"):
        open_engine(Settings(engine=address))
    assert not list(tmp_path.iterdir())


def test_a_folder_may_have_the_name_of_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("localhost:9200").mkdir()
    assert engine_package("localhost:9200") == "nwx.engine.embedded"


def test_a_folder_is_an_embedded_engine(tmp_path: Path) -> None:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as engine:
        engine.create()
        assert engine.count(IndexName.CAPTURES) == 0
