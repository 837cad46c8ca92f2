"""Unusual or inconsistent captures are counted in the right category."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from nwx.engine.base import Engine
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.checks import check_facets
from nwx.facets.columns import FacetColumns
from nwx.facets.criteria import Criterion
from nwx.facets.groups import count_groups
from nwx.facets.question import FacetQuestion, Features
from nwx.facets.stored_build import fetched_build
from nwx.model import Capture
from tests.conformance.archive import capture
from tests.conformance.test_facets import cache, written
from tests.facets import by_chance

ABOVE_ENGINES = True

__all__ = ["cache"]

SITES = 1_000_000
GB = 1 << 30


def rows(engine: Engine, criterion: Criterion) -> dict[str, Features]:
    answer = FacetAnswers(engine).answer(FacetQuestion(by=(criterion,)))
    assert sum(row.features.captures for row in answer.rows) == answer.total.captures
    return {row.values[0]: row.features for row in answer.rows}


def both_ways(engine: Engine, captures: list[Capture], criterion: Criterion) -> dict[str, Features]:
    """Return a list by a criterion, which must be the same before and after facets are built."""
    written(engine, captures)
    live = rows(engine, criterion)
    build_archive_facets(engine, FacetBuildOptions(min_captures=1))
    assert rows(engine, criterion) == live
    assert list(check_facets(engine)) == []
    assert sum(found.captures for found in live.values()) == len(captures)
    return live


def test_captures_without_a_digest_are_documents_of_their_own(engine: Engine) -> None:
    same = [capture("http://example.org/", f"20{year}", digest="") for year in (10, 11, 12)]
    other = [capture("http://example.org/", f"20{year}", body="one") for year in (10, 11)]
    found = both_ways(engine, same + other, Criterion.SITE)
    assert found == {"example.org": Features(5, 4, 1, 5_000, 4_000)}


def test_sizes(engine: Engine) -> None:
    sizes = (0, 0, 10 * GB, 2**62, None)
    captures = [capture(f"http://example.org/{n}", length=size) for n, size in enumerate(sizes)]
    found = both_ways(engine, captures, Criterion.SIZE)
    assert found["0"] == Features(2, 2, 2, 0, 0)
    assert found["120M+"] == Features(1, 1, 1, 10 * GB, 10 * GB)
    assert found["unknown"] == Features(2, 2, 2, 0, 0)


def test_statuses(engine: Engine) -> None:
    statuses = (0, 999, 150, None, 600, 200, 599)
    captures = [capture(f"http://example.org/{n}", status=one) for n, one in enumerate(statuses)]
    found = both_ways(engine, captures, Criterion.STATUS)
    counted = {name: features.captures for name, features in found.items()}
    assert counted == {"ignored": 5, "ok": 1, "server_error": 1}


@pytest.mark.parametrize("criterion", [Criterion.SITE, Criterion.TLD])
def test_hosts_that_are_addresses_or_nonsense(engine: Engine, criterion: Criterion) -> None:
    hosts = (
        "192.168.0.1",
        "[2001:db8::1]",
        "localhost",
        "no..host",
        "-",
        "a_b.example",
        "xn--",
        "%",
    )
    captures = [capture(f"http://{host}/") for host in hosts]
    found = both_ways(engine, captures, criterion)
    field = "domain" if criterion is Criterion.SITE else "public_suffix"
    wanted = Counter(
        getattr(one, field).rpartition(".")[2] if field == "public_suffix" else one.domain
        for one in captures
    )
    wanted["unknown"] += wanted.pop("", 0)
    assert {name: one.captures for name, one in found.items()} == dict(wanted)


def test_all_at_once_add_up(engine: Engine) -> None:
    both_ways(engine, by_chance(21, 150), Criterion.TYPE)
    for criterion in Criterion:
        assert sum(one.captures for one in rows(engine, criterion).values()) == 150


def test_dates_that_are_none_are_a_month_of_their_own(engine: Engine, tmp_path: Path) -> None:
    dates = ("20130101000000", "2013", "99999999999999", "soon", "20131301000000", "", None)
    build(engine, tmp_path, {"timestamp": dates, "url": [f"http://a.example/{d}" for d in dates]})
    assert months(engine) == {"2013-01": 1, "unknown": 6}


def test_a_million_sites(engine: Engine, tmp_path: Path) -> None:
    # Engines differ only in storing files, which takes a server a while.
    number = SITES if engine.facet_store().live_selection() is None else SITES // 10
    numbers = pl.int_range(number, eager=True).cast(pl.String)
    urls = pl.select("http://" + numbers + ".example/").to_series()
    named = {"url": urls, "url_host_private_domain": urls.str.slice(7)}
    build(engine, tmp_path, named | {"timestamp": ["20130101000000"] * number})
    opened = built(engine)
    found = count_groups(opened, list(opened.select({})), (Criterion.SITE,))
    assert len(found) == len(opened.labels(Criterion.SITE)) - 1 == number
    assert set(found.features["captures"]) == {1}


def build(engine: Engine, folder: Path, columns: dict[str, object]) -> None:
    """Build facets from an export with these columns."""
    engine.create()
    export = folder / "export" / "month=2013-01"
    export.mkdir(parents=True)
    frame = pl.DataFrame(columns, strict=False)
    digests = "sha1:" + pl.int_range(pl.len()).cast(pl.String)
    frame.with_columns(content_digest=digests).write_parquet(export / "a.parquet")
    build_archive_facets(engine, FacetBuildOptions(), export=folder / "export")


def built(engine: Engine) -> FacetColumns:
    """Return the columns of an archive's facet build."""
    found = fetched_build(engine.facet_store())
    assert found is not None
    return FacetColumns.of_build(found)


def months(engine: Engine) -> dict[str, int]:
    """Return the captures of each month in the build."""
    opened = built(engine)
    chosen = list(opened.select({}))
    listed = count_groups(opened, chosen, (Criterion.MONTH,)).rows(opened)
    return {row.values[0]: row.features.captures for row in listed}
