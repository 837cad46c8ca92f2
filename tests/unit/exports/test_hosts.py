"""The host index against counts of plain Python."""

from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest

import nwx
from nwx.exports.hosts import HOST_SCHEMA

SAMPLE = Path(__file__).parents[3] / "sample" / "archive"


def test_rows_have_the_counts_of_each_host_and_month(tmp_path: Path) -> None:
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_(SAMPLE)
        assert archive.export_hosts(tmp_path / "before").rows
        archive.build("links")
        report = archive.export_hosts(tmp_path / "after")
        captures = list(archive.captures())
    before = pl.read_parquet(tmp_path / "before/*.parquet")
    found = pl.read_parquet(tmp_path / "after/*.parquet")
    assert dict(found.schema) == {
        name: kind() if isinstance(kind, type) else kind for name, kind in HOST_SCHEMA.items()
    }
    assert report.rows == len(found)

    expected: Counter[tuple[str, str]] = Counter()
    statuses: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    robots, documents = set(), defaultdict(set)
    for one in captures:
        host = one.url.split("/")[2]
        place = host, f"{one.timestamp[:4]}-{one.timestamp[4:6]}"
        expected[place] += 1
        statuses[place][one.status.removeprefix("-")] += 1
        documents[place].add((one.url, one.digest))
        robots |= {place} if one.url.endswith("/robots.txt") else set()
    for row in found.iter_rows(named=True):
        place = row["host"], row["month"]
        assert row["captures"] == expected.pop(place)
        assert {one["value"]: one["captures"] for one in row["statuses"]} == statuses[place]
        assert row["documents"] == len(documents[place])
        assert row["robots"] == (place in robots)
    assert not expected

    assert before["pagerank"].null_count() == len(before)
    ranked = found.filter(pl.col("host") == "www.lantern.example")
    assert ranked["pagerank"].null_count() == 0
    assert ranked["harmonic"].min() == pytest.approx(found["harmonic"].max())
    assert before.drop("pagerank", "harmonic").equals(found.drop("pagerank", "harmonic"))
