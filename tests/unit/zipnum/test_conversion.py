"""From one form of cluster to the other."""

from pathlib import Path

import pytest

from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.conversion import to_cluster, to_wacz_form
from tests.unit.zipnum.making import cdxj_lines, write_cluster, write_wacz_index

LINES = cdxj_lines(120)


@pytest.mark.parametrize("form", ["classic", "wacz"])
def test_blocks_are_copied_as_they_are(tmp_path: Path, form: str) -> None:
    (tmp_path / "in").mkdir()
    write = write_cluster if form == "classic" else write_wacz_index
    convert = to_wacz_form if form == "classic" else to_cluster
    with open_cluster(write(tmp_path / "in", LINES)) as cluster:
        done = convert(cluster, tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    index = next(name for name in names if name.endswith(".idx"))
    with open_cluster(tmp_path / "out" / index) as made:
        assert list(made.lines()) == LINES
    assert done.blocks == 3
    data = next((tmp_path / "out").glob("*.gz"))
    assert data.stat().st_size == done.bytes
