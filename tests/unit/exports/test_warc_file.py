"""A WARC of a selection contains exactly its records."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator

from nwx.engine.base import Engine, open_engine
from nwx.errors import SourceError
from nwx.exports import PackOptions, WaczSelection, pack, pack_warc
from nwx.settings import Settings
from tests.unit.exports.test_wacz import A_AGAIN, A, B, load
from tests.warcs import write_warc


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(str(tmp_path / "archive"))) as opened:
        opened.create()
        load_pages(opened, tmp_path)
        yield opened


def load_pages(engine: Engine, folder: Path) -> None:
    load(engine, folder, write_warc(folder / "a.warc.gz", [A, A_AGAIN, B]))


def test_the_records_of_a_query_are_written(engine: Engine, tmp_path: Path) -> None:
    out = tmp_path / "out.warc.gz"
    report = pack_warc(engine, WaczSelection("slate"), out)
    assert (report.captures, report.missing, report.bytes) == (2, 0, out.stat().st_size)
    with out.open("rb") as stream:
        records = [(one.rec_type, one.rec_headers["WARC-Date"]) for one in ArchiveIterator(stream)]
    assert records == [
        ("warcinfo", records[0][1]),
        ("response", "2015-01-01T00:00:00Z"),
        ("revisit", "2016-01-01T00:00:00Z"),
    ]


def test_nothing_is_written_of_nothing(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="nothing to write"):
        pack_warc(engine, WaczSelection("zebra"), tmp_path / "out.warc.gz")
    assert not (tmp_path / "out.warc.gz").exists()


@pytest.mark.parametrize("name", ["a.warc.gz", "link.warc.gz"])
def test_the_files_of_the_archive_are_not_overwritten(
    engine: Engine, tmp_path: Path, name: str
) -> None:
    (tmp_path / "link.warc.gz").symlink_to("a.warc.gz")
    before = (tmp_path / "a.warc.gz").read_bytes()
    with pytest.raises(SourceError, match="holds records of this archive"):
        pack_warc(engine, WaczSelection("slate"), tmp_path / name)
    with pytest.raises(SourceError, match="holds records of this archive"):
        pack(engine, WaczSelection("slate"), tmp_path / name, PackOptions())
    assert (tmp_path / name).read_bytes() == before
