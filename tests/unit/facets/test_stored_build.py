"""The stored build: written as a draft, readable while it is replaced."""

from pathlib import Path

import numpy as np
import pytest

from nwx.engine.facet_store import BlobFolder, StoredBuild
from nwx.errors import BlobError, EngineVersionError
from nwx.facets.codes import Labels
from nwx.facets.stored_build import (
    Build,
    BuildDraft,
    current_build,
    fetched_build,
    restamped,
    with_fetched,
)


def publish(folder: Path, stamp: str, base: Build | None = None) -> Build:
    draft = BuildDraft(BlobFolder(folder), folder / "work" / "draft", base)
    month = {name: np.zeros(2, np.uint8) for name in ("status", "digest", "size_bytes")}
    if base is None:
        months = {"2013-01": draft.write_month("2013-01", month)}
    else:
        months = {"2013-01": draft.keep_month("2013-01")}
    draft.write_labels(Labels({"type": ["unknown", stamp]}))
    draft.write_sizes(months, 1)
    return draft.publish(
        stamp=stamp,
        checks={},
        seeds=(1, 2),
        hashed_by="",
        sites={},
        min_captures=1,
        captures=2,
        combinations=0,
        ids={"url": 1, "digest": 1},
    )


def test_a_draft_becomes_the_current_build_and_its_predecessor_goes(tmp_path: Path) -> None:
    first = publish(tmp_path, "one")
    second = publish(tmp_path, "two", first)
    assert second.notes.months == first.notes.months
    assert set(second.stored.blobs) == BlobFolder(tmp_path).blobs()
    found = fetched_build(BlobFolder(tmp_path))
    assert found is not None
    assert (found.notes.stamp, found.labels()("type")) == ("two", ["unknown", "two"])
    assert found.month("2013-01")["digest"].tolist() == [0, 0]
    assert found.bytes == sum(one.stat().st_size for one in tmp_path.glob("*.*.*"))


def test_labels_are_read_when_the_build_is_replaced(tmp_path: Path) -> None:
    read = publish(tmp_path, "one").labels()
    publish(tmp_path, "two")
    assert read("type") == ["unknown", "one"]


def test_what_meets_a_build_that_is_replaced_gets_the_next_one(tmp_path: Path) -> None:
    publish(tmp_path, "one")
    seen = []

    def use(build: Build) -> str:
        seen.append(build.notes.stamp)
        if len(seen) == 1:
            publish(tmp_path, "two")
        build.labels()
        return build.notes.stamp

    assert with_fetched(BlobFolder(tmp_path), use) == "two"
    assert seen == ["one", "two"]


def test_missing_blobs_are_an_error_that_tells_what_to_do(tmp_path: Path) -> None:
    build = publish(tmp_path, "one")
    build.path(build.notes.sizes).unlink()
    with pytest.raises(BlobError, match="run `nwx build-facets --anew`"):
        fetched_build(BlobFolder(tmp_path))


def test_a_build_of_another_format_is_an_error(tmp_path: Path) -> None:
    BlobFolder(tmp_path).swap(StoredBuild({}, {"format": 1}), "")
    with pytest.raises(EngineVersionError, match=r"format 1, .*build-facets --anew"):
        current_build(BlobFolder(tmp_path))


def test_a_new_stamp_keeps_the_blobs(tmp_path: Path) -> None:
    build = publish(tmp_path, "one")
    again = restamped(BlobFolder(tmp_path), build, "two")
    assert (again.notes.stamp, again.stored.blobs) == ("two", build.stored.blobs)
    assert current_build(BlobFolder(tmp_path)) is not None


def test_a_folder_without_a_build(tmp_path: Path) -> None:
    assert current_build(BlobFolder(tmp_path)) is None
    assert fetched_build(BlobFolder(tmp_path)) is None
