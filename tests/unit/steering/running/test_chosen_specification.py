"""The specification that a user names."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.errors import NwxError, SourceError, UsageError
from nwx.settings import Settings
from nwx.steering.running.chosen_specification import chosen_specification, file_of_specification
from nwx.steering.specifications.files import write_specification
from tests.hostile_analysis import STONES


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(str(tmp_path / "archive"))) as opened:
        opened.create()
        yield opened


def test_a_file_is_read_and_saved(tmp_path: Path, engine: Engine) -> None:
    for suffix in ("toml", "json"):
        path = tmp_path / f"spec.{suffix}"
        path.write_text(write_specification(STONES, "toml" if suffix == "toml" else "json"))
        assert chosen_specification(engine, str(path)) == STONES
    [stored] = engine.crawl_index().specifications()
    assert (stored.name, stored.number, stored.version) == ("stones", 1, STONES.version())
    assert chosen_specification(engine, "stones") == STONES


def test_what_is_not_there_is_told(tmp_path: Path, engine: Engine) -> None:
    with pytest.raises(UsageError, match=r"of this name in the archive \(it has none\)"):
        chosen_specification(engine, "stones")
    with pytest.raises(SourceError, match=r"none\.toml cannot be read"):
        chosen_specification(engine, str(tmp_path / "none.toml"))
    assert file_of_specification("stones") is None


@pytest.mark.parametrize("content", [b"name = 5", b"\xff\xfe", b"name ="])
def test_a_wrong_file_is_an_error(tmp_path: Path, engine: Engine, content: bytes) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(content)
    with pytest.raises(NwxError, match=r"spec\.toml"):
        chosen_specification(engine, str(path))
    assert engine.crawl_index().specifications() == []
