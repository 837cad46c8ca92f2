"""A build has the counts of plain Python."""

import resource
from itertools import combinations
from pathlib import Path
from unittest.mock import Mock

import pytest

from nwx.engine.base import open_engine
from nwx.errors import SourceError
from nwx.facets import feature_counts
from nwx.facets.build import FacetBuildOptions, FacetBuildReport, build_facets
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.question import STORED_FEATURES
from nwx.facets.sources import ArchiveCaptures
from nwx.model import Capture
from nwx.settings import Settings
from tests.facets import batch, by_chance, counted, features, groups, stored_entries


def write(folder: Path, captures: list[Capture]) -> None:
    with open_engine(Settings(str(folder))) as engine:
        engine.write(batch(captures))


def build(folder: Path, **options: object) -> FacetBuildReport:
    with open_engine(Settings(str(folder)), read_only=True) as engine:
        store = engine.facet_store()
        wanted = FacetBuildOptions(**options)  # type: ignore[arg-type]
        return build_facets(ArchiveCaptures(store), store, wanted)


def stored(folder: Path) -> dict[str, dict[str, object]]:
    return stored_entries(folder / "facets")


def expected(captures: list[Capture], least: int) -> dict[str, dict[str, object]]:
    found = {}
    all_of = counted(captures)
    for size in range(len(CUBE) + 1):
        for some in combinations(CUBE, size):
            names = ["status", *some]
            for values, group in groups(all_of, names).items():
                if len(group) >= least:
                    id = " ".join(f"{n}={v}" for n, v in zip(names, values, strict=True))
                    fields = [Criterion.named(name).definition.facets_field for name in names]
                    found[id] = {
                        "id": id,
                        "grouping": ",".join(some),
                        **dict(zip(fields, values, strict=True)),
                        **features(group),
                    }
    return found


@pytest.mark.parametrize("least", [1, 5])
@pytest.mark.parametrize("seed", range(6))
def test_all_combinations_are_as_counted_in_plain_python(
    tmp_path: Path, seed: int, least: int
) -> None:
    captures = by_chance(seed, 5 * 4**seed // 3)
    write(tmp_path, captures)
    report = build(tmp_path, min_captures=least)
    assert stored(tmp_path) == expected(captures, least)
    assert report.captures == len(captures)
    assert report.combinations == len(expected(captures, least))


def test_a_build_goes_on_after_its_seeds_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures = by_chance(1, 20)
    write(tmp_path, captures)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def seeds_before_the_limit(number: int) -> bytes:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
        return bytes(number)

    try:
        with monkeypatch.context() as patched, pytest.raises(SourceError, match="File too large"):
            patched.setattr("nwx.facets.build.os.urandom", seeds_before_the_limit)
            build(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert build(tmp_path).captures == len(captures)


@pytest.mark.parametrize("seed", range(4))
def test_captures_that_come_later_change_a_build_to_what_it_would_be_from_scratch(
    tmp_path: Path, seed: int
) -> None:
    captures = by_chance(seed, 300)
    early = [one for one in captures if one.timestamp < "201304"]
    late = [one for one in captures if one.timestamp >= "201304"]
    write(tmp_path, early)
    build(tmp_path, min_captures=3)
    write(tmp_path, late[: len(late) // 2])
    build(tmp_path, min_captures=3)
    write(tmp_path, late[len(late) // 2 :])
    build(tmp_path, min_captures=3)
    assert stored(tmp_path) == expected(captures, 3)


@pytest.mark.parametrize("revisits", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_months_that_are_added_one_by_one_are_counted_as_all_at_once(
    tmp_path: Path, seed: int, revisits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    spy = Mock(side_effect=feature_counts.added_features)
    monkeypatch.setattr(feature_counts, "added_features", spy)
    captures = by_chance(seed, 240, months=6)
    captures = [one for one in captures if revisits or one.record_type != "revisit"]
    for month in range(1, 7):
        write(tmp_path, [one for one in captures if int(one.timestamp[4:6]) == month])
        report = build(tmp_path, min_captures=4)
        so_far = [one for one in captures if int(one.timestamp[4:6]) <= month]
        assert stored(tmp_path) == expected(so_far, 4)
        assert report.combinations == len(stored(tmp_path))
    # New captures may have changed the sizes of earlier revisits.
    assert spy.called or revisits


def test_small_memory_gives_the_same(tmp_path: Path) -> None:
    captures = by_chance(1, 500)
    write(tmp_path, captures)
    build(tmp_path, min_captures=2, memory_bytes=1)
    assert stored(tmp_path) == expected(captures, 2)


def test_features_are_whole_numbers(tmp_path: Path) -> None:
    write(tmp_path, by_chance(3, 50))
    build(tmp_path, min_captures=1)
    assert all(
        type(entry[name]) is int for entry in stored(tmp_path).values() for name in STORED_FEATURES
    )
