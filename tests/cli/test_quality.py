"""nwx quality: the worst pages, totals, JSON and CSV."""

import csv
import io
from pathlib import Path

from nwx.engine.base import open_engine
from nwx.engine.indices.quality_index import Fault
from nwx.settings import Settings
from tests.cli.conftest import Nwx
from tests.web.archive import capture
from tests.web.checked_archive import score_of


def test_pages_are_listed_worst_first(nwx: Nwx, tmp_path: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.create()
    assert "nwx check-playback" in nwx("quality").out
    captures = [capture(f"http://{name}.example.org/", "20100101000000", name, 0) for name in "ab"]
    scores = [
        score_of(captures[0], 0.5, id="1", faults=(Fault("leak"),), faults_total=1),
        score_of(captures[1], 0.25, id="2"),
    ]
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.quality_index().put(scores)
    told = nwx("quality").out
    assert "2 pages checked, mean score 0.375" in told
    assert told.index("http://b.example.org/") < told.index("http://a.example.org/")
    answer = nwx("quality", "--json", "--limit", "1").json
    assert (answer["pages"], [one["id"] for one in answer["scores"]]) == (2, ["2"])
    rows = list(csv.DictReader(io.StringIO(nwx("quality", "--csv", "--kind", "leak").out)))
    assert [row["id"] for row in rows] == ["1"]
    assert nwx("quality", "--host", "B.example.org", "--month", "2010-01", "--json").json["pages"]
    assert "is not a month" in nwx("quality", "--month", "2010", code=2).err
    nwx("quality", "--csv", "--json", code=2)
    nwx("review", "1", "--verdict", "bad", "--reviewer", "ann")
    assert "bad 1" in nwx("review").err
    assert nwx("review", "--collection", "other", "--json").json == {"counts": [], "reviews": []}
