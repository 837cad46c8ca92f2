"""Files of split points."""

from pathlib import Path

import pytest

from nwx.errors import UsageError
from nwx.jobs.split_files import cluster_split_file
from nwx.zipnum.split_points import read_splits
from tests.unit.zipnum.making import cdxj_lines, write_cluster


def test_split_points_of_a_cluster_are_written_once(tmp_path: Path) -> None:
    index = write_cluster(tmp_path, cdxj_lines(400), 10)
    place = str(tmp_path / "splits")
    report = cluster_split_file(place, str(index), 4)
    assert (report.counts["split points"], report.warnings) == (3, [])
    assert len(read_splits(tmp_path / "splits")) == 3
    with pytest.raises(UsageError, match="splits is there already; --overwrite replaces it"):
        cluster_split_file(place, str(index), 4)
    report = cluster_split_file(place, str(index), 1000, overwrite=True)
    assert report.warnings == ["40 shards, not 1000: there are too few different keys"]
