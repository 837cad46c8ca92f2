"""nwx stats and nwx check with lost shards or killed imports."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from nwx.cli import main
from nwx.engine.base import open_engine
from nwx.engine.capabilities import ShardHealth, Shards
from nwx.errors import PartialAnswerError
from nwx.maintenance import holdings
from nwx.model import IndexName
from nwx.settings import Settings


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in place of a server."""
    folder = tmp_path / "archive"
    with open_engine(Settings(str(folder))) as engine:
        engine.create()
    monkeypatch.setenv("NWX_ENGINE", str(folder))
    return folder


def test_shards_are_shown_where_the_rules_of_access_are_lost(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = ShardHealth("nwx-access-000001", 1, 0, lost=(0,), missing_copies=1)
    monkeypatch.setattr(Shards, "health", lambda self: {IndexName.ACCESS: lost})

    def refuse(_: Any) -> None:
        raise PartialAnswerError("1 of 1 shards did not answer")

    monkeypatch.setattr(holdings, "measure", refuse)
    ran = CliRunner().invoke(main.cli, ["stats", "--json"], standalone_mode=False)
    assert ran.return_value == 1
    found = json.loads(ran.stdout)
    assert found["shards"]["access"]["status"] == "red"
    assert found["captures"] is found["bytes"]["captures"] is None
    assert "1 shard of access lost (0)" in ran.stderr
    shown = CliRunner().invoke(main.cli, ["stats"], standalone_mode=False)
    assert "red" in shown.stdout
    monkeypatch.setattr(Shards, "health", lambda self: {})
    ran = CliRunner().invoke(main.cli, ["stats"], standalone_mode=False)
    assert isinstance(ran.exception, PartialAnswerError)


def test_lost_shards_of_what_belongs_to_an_index_are_shown(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = ShardHealth("nwx-facets-files-000001", 1, 0, lost=(0,), missing_copies=1)
    monkeypatch.setattr(Shards, "health", lambda self: {"facets-files": lost})
    ran = CliRunner().invoke(main.cli, ["stats"], standalone_mode=False)
    assert ran.return_value == 1
    (row,) = [line for line in ran.stdout.splitlines() if "facets-files" in line]
    assert row.split() == ["facets-files", "red", "1", "0", "1"]
    assert "1 shard of facets-files lost (0)" in ran.stderr
    ran = CliRunner().invoke(main.cli, ["check"], standalone_mode=False)
    assert "facets-files nwx-facets-files-000001[0]: no node holds this shard" in ran.stdout
    assert "the indices could not be compared" in ran.stdout


def test_a_check_does_not_ask_for_what_lies_in_lost_shards(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = ShardHealth("nwx-loading-000001", 1, 0, lost=(0,), missing_copies=1)
    monkeypatch.setattr(Shards, "health", lambda self: {"loading": lost})

    def refuse(_: Any) -> None:
        raise PartialAnswerError("1 of 1 shards did not answer")

    monkeypatch.setattr(Shards, "loaders", refuse)
    ran = CliRunner().invoke(main.cli, ["check"], standalone_mode=False)
    assert "loading nwx-loading-000001[0]: no node holds this shard" in ran.stdout
    assert ran.return_value == 1


def test_settings_are_put_back_before_a_cdx_is_compared_too(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []

    def end(_: Shards, loaders: Iterable[str]) -> None:
        ended.extend(loaders)

    monkeypatch.setattr(Shards, "loaders", lambda self: ("killed",))
    monkeypatch.setattr(Shards, "end_loading", end)
    cdx = archive.parent / "a.cdx"
    cdx.write_text("", encoding="utf-8")
    given = ["check", "--end-loading", "--quiet", "--cdx", str(cdx)]
    CliRunner().invoke(main.cli, given, standalone_mode=False)
    assert ended == ["killed"]
