"""What browsers draw with is made once and kept in a file."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.charts import bundles
from nwx.charts.bundles import browser_bundle, bundle_version
from nwx.charts.drawing_processes import DrawingProcesses


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    browser_bundle.cache_clear()
    yield
    browser_bundle.cache_clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that were done, which all have the same result."""
    tasks: list[str] = []

    def do_alone(self: DrawingProcesses, task: dict[str, str], timeout_seconds: float) -> bytes:
        tasks.append(task["task"])
        return b"a bundle"

    monkeypatch.setattr(DrawingProcesses, "do_alone", do_alone)
    return tasks


def test_browsers_get_what_draws(tmp_path: Path) -> None:
    bundle = gzip.decompress(browser_bundle(tmp_path))
    assert b"window.vegaEmbed" in bundle
    assert b"expressionInterpreter" in bundle


def test_it_is_made_once_for_all_who_use_a_folder(tmp_path: Path, made: list[str]) -> None:
    folder = tmp_path / "new" / "cache"
    first = browser_bundle(folder)
    browser_bundle.cache_clear()
    assert browser_bundle(folder) == first
    assert gzip.decompress(first) == b"a bundle"
    assert made == ["bundle"]


def test_another_version_is_another_file(
    tmp_path: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bundle_version()
    for number in ("1", "2"):
        monkeypatch.setattr(bundles, "version", lambda name, number=number: number)
        browser_bundle.cache_clear()
        browser_bundle(tmp_path)
    assert made == ["bundle", "bundle"]


@pytest.mark.parametrize("damage", [b"", b"no gzip", None])
def test_a_damaged_file_is_made_again(
    tmp_path: Path, made: list[str], damage: bytes | None
) -> None:
    whole = browser_bundle(tmp_path)
    (path,) = tmp_path.iterdir()
    path.write_bytes(whole[:-6] if damage is None else damage)
    browser_bundle.cache_clear()
    assert browser_bundle(tmp_path) == path.read_bytes() == whole
    assert made == ["bundle", "bundle"]


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path: Path, made: list[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert gzip.decompress(browser_bundle(tmp_path / "file")) == b"a bundle"
