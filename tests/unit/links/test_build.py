"""Builds of inlinks that fail."""

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import EngineFullError, NwxError, SourceError
from nwx.links import draft, parts
from nwx.links.build import InlinkBuildOptions, invert_links
from tests.links import page


def _full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("module", "function", "error", "kept"),
    [
        (parts, "write_arrays", SourceError, 0),
        (draft, "write_arrays", EngineFullError, 1),
        (draft, "write_anchor_table", EngineFullError, 1),
    ],
)
def test_a_full_disk_leaves_only_the_documents_read(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    module: object,
    function: str,
    error: type[NwxError],
    kept: int,
) -> None:
    folder = tmp_path / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.write(page("http://a.test/", ["http://b.test/"]))
        engine.refresh()
        reopen: Callable[[], EmbeddedEngine] = partial(EmbeddedEngine, folder, read_only=True)
        build = partial(invert_links, engine, reopen, InlinkBuildOptions(workers=1))
        with monkeypatch.context() as patched:
            patched.setattr(module, function, _full)
            with pytest.raises(error):
                build()
        work = folder / "inlinks" / "work"
        assert sorted(path.name for path in work.iterdir()) == ["lock", "parts"]
        assert len(list((work / "parts").iterdir())) == kept
        assert build().read == 1 - kept
        assert not list((work / "parts").iterdir())
