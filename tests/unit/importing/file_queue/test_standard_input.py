"""Standard input, kept as a file."""

from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.importing.file_queue.standard_input import spooled
from nwx.warc.sources import ArchiveSource


def test_it_is_kept_as_it_is(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(b"x" * 3_000_000)
    kept = spooled(ArchiveSource("a", str(given), None), tmp_path, lambda: False)
    assert (kept.name, kept.size) == ("a", 3_000_000)
    assert Path(kept.path).read_bytes() == given.read_bytes()
    stopped = spooled(ArchiveSource("a", str(given), None), tmp_path, lambda: True)
    assert stopped.size == 0


def test_a_folder_that_cannot_take_it_is_an_error(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.touch()
    with pytest.raises(SourceError, match="standard input cannot be kept"):
        spooled(ArchiveSource("a", str(given), None), tmp_path / "none", lambda: False)
