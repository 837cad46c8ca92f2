"""The host index compared with counts in plain Python."""

from collections import Counter, defaultdict
from pathlib import Path

import polars as pl
import pytest

import nwx
from nwx.engine.embedded import EmbeddedEngine
from nwx.exports.hosts import HOST_SCHEMA, host_frames, hosts_frame
from nwx.model import Batch
from tests.conformance.archive import capture

DIGEST = f"sha1:{'A' * 32}"
MONTHS = ("2010-01", "2010-02")

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


def test_hosts_with_ports_and_parts_of_a_url_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In urlkey order, captures with a port are separate from the others of their host."""
    urls = ["http://a.test/", "http://b.a.test/", "http://a.test:8080/", "dns:a.test"]
    digests = ["A" * 32, "B" * 32, "A" * 32]
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        captures = [
            capture(url, f"20100{month}", digest=f"sha1:{digest}")
            for url in urls
            for month in (1, 2)
            for digest in digests
        ]
        engine.write(Batch(captures=tuple(captures)))
        engine.refresh()
        whole = pl.concat(host_frames(engine)).select(list(HOST_SCHEMA))
        both = hosts_frame(engine)
        monkeypatch.setattr("nwx.engine.embedded.captures.stored_captures.COLUMN_ROWS", 2)
        monkeypatch.setattr("nwx.exports.hosts._MOST_CELLS", 1)
        assert pl.concat(host_frames(engine)).select(list(HOST_SCHEMA)).equals(whole)
        assert hosts_frame(engine).equals(both)
    places = [f"{host} {month}" for host in ("a.test", "b.a.test") for month in MONTHS]
    assert (whole["host"] + " " + whole["month"]).to_list() == places
    assert both["documents"].to_list() == [4, 2]
    assert whole["documents"].to_list() == [4, 4, 2, 2]
    assert both["captures"].sum() == whole["captures"].sum()


def test_revisits_have_the_type_and_bytes_of_their_payload_as_in_facets(tmp_path: Path) -> None:
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_(SAMPLE)
        hosts = archive.hosts().to_polars()
        facets = archive.facets(by=["type"], features=["captures"])
        total = archive.facets().total
    types = hosts.select("types").explode("types").unnest("types").group_by("value").sum()
    assert dict(types.rows()) == dict(facets.to_polars().rows())
    assert (hosts["captures"].sum(), hosts["bytes"].sum()) == (total.captures, total.bytes)


def test_a_revisit_of_another_url_has_the_largest_payload_of_its_digest(tmp_path: Path) -> None:
    """A payload of the same URL has precedence; without any, the revisit's own record counts."""
    held = [("http://a.test/1", "image", 7), ("http://a.test/2", "html", 9)]
    again = [("http://a.test/1", "A"), ("http://b.test/1", "A"), ("http://c.test/1", "B")]
    captures = [
        capture(url, "2010")._replace(digest=DIGEST, content_type_norm=kind, content_length=size)
        for url, kind, size in held
    ] + [
        capture(url, "2011", record_type="revisit")._replace(
            digest=f"sha1:{name * 32}",
            content_type_norm="text",
            content_length=3,
        )
        for url, name in again
    ]
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        engine.write(Batch(captures=tuple(captures)))
        engine.refresh()
        rows = hosts_frame(engine).select("host", "bytes", "types").rows(named=True)
    found = [(row["host"], row["bytes"], [one["value"] for one in row["types"]]) for row in rows]
    assert found == [
        ("a.test", 23, ["image", "html"]),
        ("b.test", 9, ["html"]),
        ("c.test", 3, ["text"]),
    ]
