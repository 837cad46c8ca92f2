"""Engine support for facets: named blobs, a current build, captures in bulk."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nwx.bulk.arrays import read_arrays, write_arrays
from nwx.engine.base import Engine
from nwx.engine.entries import EntryColumns
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS, FacetStore, StoredBuild
from nwx.errors import BlobError, EngineBusyError, UsageError
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.counted_facets import load_counted_facets
from nwx.facets.question import AnsweredBy, parse_facet_question
from nwx.model import IndexName
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.counted_facets import write_counted
from tests.facets import batch, by_chance

ABOVE_ENGINES = True

__all__ = ["cache"]

LARGE = 5 << 20


@pytest.fixture
def store(engine: Engine) -> FacetStore:
    return engine.facet_store()


@pytest.fixture
def work(store: FacetStore) -> Iterator[Path]:
    folder = store.folder / "work"
    folder.mkdir(parents=True)
    yield folder
    assert list(folder.iterdir()) == []


def put(store: FacetStore, work: Path, name: str, content: bytes) -> dict[str, int]:
    (work / name).write_bytes(content)
    store.put(work / name)
    return {name: len(content)}


def put_combinations(store: FacetStore, work: Path, captures: list[int]) -> StoredBuild:
    blobs = put(store, work, "labels.json", json.dumps(["unknown", "a", "b"]).encode())
    columns = {
        "/status": np.array([1], dtype=np.uint8),
        "/captures": np.array([sum(captures)]),
        "type/status": np.full(len(captures), 1, dtype=np.uint8),
        "type/type": np.arange(len(captures), dtype=np.uint16),
        "type/captures": np.array(captures),
    }
    write_arrays(work / "cube.arrays", columns)
    blobs["cube.arrays"] = (work / "cube.arrays").stat().st_size
    store.put(work / "cube.arrays")
    labels = {"status": "labels.json", "type": "labels.json"}
    fields = {"status": "status", "type": "content_type_norm"}
    entries = EntryColumns("cube.arrays", 1 + len(captures), labels, fields)
    return StoredBuild(blobs, {"any": ["note", 1]}, entries)


def test_blobs_are_stored_listed_and_deleted(store: FacetStore, work: Path) -> None:
    assert store.blobs() == set()
    blobs = put(store, work, "a", b"1") | put(store, work, "b.json", bytes(LARGE))
    assert store.blobs() == {"a", "b.json"}
    store.get(blobs)
    assert (store.folder / "a").read_bytes() == b"1"
    store.delete(["a", "missing"])
    assert store.blobs() == {"b.json"}
    assert not (store.folder / "a").exists()
    with pytest.raises(BlobError):
        store.get({"a": 1})


def test_blobs_are_read_wherever_the_archive_is_opened(
    engine: Engine,
    store: FacetStore,
    work: Path,
    open_archive: Opener,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    content = bytes(range(256)) * (LARGE // 256)
    blobs = put(store, work, "a", b"") | put(store, work, "b", content)
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    with open_archive() as other:
        there = other.facet_store()
        there.get(blobs)
        assert (there.folder / "a").read_bytes() == b""
        assert (there.folder / "b").read_bytes() == content


def test_a_build_becomes_current_at_once(store: FacetStore, work: Path) -> None:
    assert (store.version(), store.current()) == ("", None)
    build = StoredBuild(put(store, work, "a", b"1"), {"number": 1})
    store.swap(build, "")
    first = store.version()
    assert first
    assert store.current() == build
    with pytest.raises(EngineBusyError, match="another build"):
        store.swap(StoredBuild({}), "")
    assert store.current() == build
    store.swap(StoredBuild({}, {"number": 2}), first)
    assert store.current() == StoredBuild({}, {"number": 2})
    assert store.version() != first


def test_combinations_are_the_entries_of_the_index(
    engine: Engine, store: FacetStore, work: Path
) -> None:
    store.swap(put_combinations(store, work, [3, 4]), "")
    assert [dict(entry) for entry in engine.scan(IndexName.FACETS)] == [
        {"id": "status=a", "grouping": "", "status": "a", "captures": 7},
        {
            "id": "status=a type=a",
            "grouping": "type",
            "status": "a",
            "content_type_norm": "a",
            "captures": 4,
        },
        {
            "id": "status=a type=unknown",
            "grouping": "type",
            "status": "a",
            "content_type_norm": "unknown",
            "captures": 3,
        },
    ]
    assert engine.count(IndexName.FACETS) == engine.stats()[IndexName.FACETS].entries == 3
    store.swap(StoredBuild({}), store.version())
    assert engine.count(IndexName.FACETS) == 0


def test_entries_of_facets_are_not_deleted_one_by_one(
    engine: Engine, store: FacetStore, work: Path
) -> None:
    store.swap(put_combinations(store, work, [3]), "")
    with pytest.raises(UsageError, match="facets"):
        engine.delete(IndexName.FACETS, ["status=a"])
    assert engine.count(IndexName.FACETS) == 2


def test_blobs_that_are_mapped_outlive_their_deletion(store: FacetStore, work: Path) -> None:
    build = put_combinations(store, work, [5])
    store.get(build.blobs)
    arrays = read_arrays(store.folder / "cube.arrays")
    store.delete(build.blobs)
    assert arrays["type/captures"].tolist() == [5]


def test_the_stamp_tells_when_captures_change(engine: Engine, store: FacetStore) -> None:
    captures = by_chance(1, 60, months=3)
    engine.write(batch(captures[:30]))
    engine.refresh()
    stamp, months = store.stamp(), store.month_stamps()
    assert (store.stamp(), store.month_stamps()) == (stamp, months)
    added = next(one for one in captures[30:] if one.timestamp.startswith("201302"))
    engine.write(batch([added]))
    engine.refresh()
    assert store.stamp() != stamp
    changed = {month for month, text in store.month_stamps().items() if text != months[month]}
    assert changed == {"201302"}


def test_captures_are_streamed_by_month_and_from_a_mark_on(
    engine: Engine, store: FacetStore
) -> None:
    captures = by_chance(2, 90, months=3)
    engine.write(batch(captures))
    engine.refresh()

    def rows(months: list[str] | None, after: str = "") -> list[tuple[object, ...]]:
        return [tuple(row) for part in store.capture_rows(months, after) for row in part.rows]

    wanted = [one for one in captures if one.timestamp[:6] in ("201301", "201303")]
    found = rows(["201301", "201303"])
    offset = CAPTURE_ROW_FIELDS.index("source_file_offset")
    assert sorted(int(str(row[offset])) for row in found) == sorted(
        one.source_file_offset for one in wanted
    )
    assert len(rows(None)) == len(captures)
    *_, last = store.capture_rows(None)
    assert rows(None, last.after) == []


def test_captures_are_found_at_their_places(engine: Engine, store: FacetStore) -> None:
    captures = by_chance(3, 20)
    engine.write(batch(captures))
    engine.refresh()
    places = [(f"{one.collection}/{one.source_file}", one.source_file_offset) for one in captures]
    wanted = [places[7], ("web/missing", 0), places[3]]
    assert store.captures_at(wanted) == [captures[7], captures[3]]


def test_facets_that_were_counted_elsewhere_become_the_build(
    engine: Engine, tmp_path: Path
) -> None:
    """Answers come from the build counted elsewhere, and are not live."""
    engine.write(batch(by_chance(3, 120)))
    engine.refresh()
    built = build_archive_facets(engine, FacetBuildOptions(min_captures=2)).build
    question = parse_facet_question(["status=ok"], "month,type", "captures")
    known = FacetAnswers(engine).answer(question)
    write_counted(tmp_path / "counted", built)
    report = load_counted_facets(engine, tmp_path / "counted")
    assert report.combinations == built.notes.combinations
    assert engine.count(IndexName.FACETS) == built.notes.combinations
    found = FacetAnswers(engine).answer(question)
    assert (found.total, found.rows, found.answered_by) == (
        known.total, known.rows, known.answered_by
    )  # fmt: skip
    assert found.answered_by is not AnsweredBy.LIVE
