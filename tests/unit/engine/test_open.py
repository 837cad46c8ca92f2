"""From an address to an engine."""

from pathlib import Path

import pytest

from nwx.engine.open import engine_package, is_server, open_engine
from nwx.errors import UsageError
from nwx.model import IndexName
from nwx.settings import Settings


@pytest.mark.parametrize(
    ("address", "package", "server"),
    [
        ("/some/folder", "nwx.engine.embedded", False),
        ("archive", "nwx.engine.embedded", False),
        ("http://localhost:9200", "nwx.engine.elastic", True),
        ("https://user@host.example/", "nwx.engine.elastic", True),
    ],
)
def test_the_scheme_tells_the_engine(address: str, package: str, server: bool) -> None:
    assert engine_package(address) == package
    assert is_server(address) is server


def test_an_unknown_scheme_is_a_usage_error() -> None:
    assert not is_server("ftp://host.example")
    with pytest.raises(UsageError, match="unknown scheme 'ftp'"):
        engine_package("ftp://host.example")


def test_a_folder_is_an_embedded_engine(tmp_path: Path) -> None:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as engine:
        engine.create()
        assert engine.count(IndexName.CAPTURES) == 0
