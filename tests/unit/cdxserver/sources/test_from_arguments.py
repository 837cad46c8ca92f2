"""From what somebody names to sources of rows."""

from pathlib import Path

import pytest

from nwx.cdxserver.sources.clusters import ClusterSource
from nwx.cdxserver.sources.files import CdxFileSource
from nwx.cdxserver.sources.from_arguments import open_sources
from nwx.errors import SourceError
from tests.unit.zipnum.making import cdxj_lines, write_cluster

LINE = "example,a)/ 20100101000000 http://a.example/ text/html 200 - - - - 0 f\n"


def test_a_folder_of_files_is_a_source_each_in_the_order_of_names(tmp_path: Path) -> None:
    for name in ("b.cdx", "a.CDXJ", "notes.txt"):
        (tmp_path / name).write_text(LINE)
    found = open_sources([f"web={tmp_path}"])
    assert [source.name for source in found] == ["a.CDXJ", "b.cdx"]
    assert [source.collections() for source in found] == [("web",), ("web",)]
    assert all(isinstance(source, CdxFileSource) for source in found)


def test_a_cluster_is_found_by_its_folder_and_by_its_index(tmp_path: Path) -> None:
    index = write_cluster(tmp_path, cdxj_lines(10))
    for place in (index, tmp_path):
        (found,) = open_sources([str(place)])
        assert isinstance(found, ClusterSource)
        assert found.collections() == ("default",)
        found.close()


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="is not there"):
        open_sources([str(tmp_path / "none.cdx")])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"neither an \.idx file nor"):
        open_sources([str(tmp_path)])
