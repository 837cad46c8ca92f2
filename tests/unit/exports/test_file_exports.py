"""WAT and WET files: failures to write stop the export, failures to read do not."""

import errno
import os
from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.exports import file_exports
from nwx.exports.archive_inputs import given_inputs
from tests.warcs import Page, write_warc


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_warc(tmp_path / "a.warc.gz", [Page("http://a.example/", "20200101000000")])
    return tmp_path


def test_a_full_disk_stops_the_export(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> bytes:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    inputs, out = given_inputs([str(folder)]), folder / "out"
    monkeypatch.setattr(file_exports, "new_record", no_space)
    with pytest.raises(SourceError, match=r"a\.warc\.wat\.gz cannot be written: No space left"):
        file_exports.export_files("wat", inputs, out, workers=1)
    assert [one.name for one in out.iterdir()] == ["nwx-export.json"]
    monkeypatch.undo()
    assert file_exports.export_files("wat", inputs, out, workers=1).files == 1


def test_an_archive_file_that_is_gone_is_an_error_of_the_report(folder: Path) -> None:
    inputs = given_inputs([str(folder)])
    (folder / "a.warc.gz").unlink()
    report = file_exports.export_files("wat", inputs, folder / "out", workers=1)
    assert report.files == 0
    [error] = report.errors
    assert error.message.startswith("cannot be read: ")
    assert error.message.endswith("No such file or directory")
