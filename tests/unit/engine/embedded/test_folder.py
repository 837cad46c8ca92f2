"""What goes wrong in an archive's folder is said as it is; our own mistakes are no damage."""

import errno
import os
import threading
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import counts
from nwx.engine.embedded.documents.searcher import TantivyError, tantivy_errors
from nwx.engine.embedded.folder import Folder
from nwx.errors import EngineError, EngineFullError
from nwx.query.question import Question
from tests.unit.engine.embedded.making import batch, page


def test_an_error_of_our_own_is_not_taken_for_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(page(1)))
        engine.refresh()
        # A module that has the name `tantivy` among its own.
        monkeypatch.setattr(counts, "tantivy", object(), raising=False)
        monkeypatch.setattr(counts, "_most_frequent", lambda *_: int("not a number"))
        with pytest.raises(ValueError, match="invalid literal"):
            engine.search(Question(facets=("domain",)))


def test_what_tantivy_says_of_damage_is_damage(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(page(1)))
    for file in (tmp_path / "a" / "documents").glob("*.store"):
        file.write_bytes(b"garbage")
    with (
        EmbeddedEngine(tmp_path / "a", read_only=True) as engine,
        pytest.raises(EngineError, match=r"documents cannot be used .*restore it from a copy"),
    ):
        engine.search(Question("page"))


@pytest.mark.parametrize(
    ("number", "place", "advice"),
    [
        (errno.EMFILE, "documents/meta.json", "ulimit -n"),
        (errno.EACCES, "documents/meta.json", "permissions"),
        (errno.EROFS, "columns.arrays", "can be written to"),
        (errno.ENOENT, "documents/meta.json", "restore it from a copy"),
        (errno.ENOSPC, "/elsewhere/tmp/spill", "make room there"),
    ],
)
def test_errors_of_the_system_get_fitting_advice(
    tmp_path: Path, number: int, place: str, advice: str
) -> None:
    with (
        pytest.raises(EngineError, match=advice) as caught,
        Folder(tmp_path).our_errors(),
    ):
        raise OSError(number, os.strerror(number), str(tmp_path / place))
    assert place in str(caught.value)
    assert not isinstance(caught.value, EngineFullError)


def test_a_full_disk_is_full(tmp_path: Path) -> None:
    with pytest.raises(EngineFullError), Folder(tmp_path).our_errors():
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "columns.arrays"))
    with pytest.raises(EngineFullError), Folder(tmp_path).our_errors():
        raise TantivyError("An IO error occurred: 'No space left on device (os error 28)'")


def test_only_what_tantivy_does_is_its_error() -> None:
    with pytest.raises(TantivyError), tantivy_errors():
        raise ValueError("Schema error")
    with pytest.raises(KeyError), tantivy_errors():
        raise KeyError("x")


def test_who_makes_the_archive_at_the_same_moment_is_waited_for(tmp_path: Path) -> None:
    others = Folder(tmp_path / "new")
    ending = threading.Timer(0.2, os.close, [others.lock()])
    ending.start()
    with EmbeddedEngine(tmp_path / "new") as engine:
        engine.create()
    ending.join()
    assert others.exists()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        EmbeddedEngine(tmp_path / "file" / "archive") as engine,
        pytest.raises(EngineError, match=r"cannot be written .*choose another"),
    ):
        engine.create()
