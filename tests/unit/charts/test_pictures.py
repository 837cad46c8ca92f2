"""Charts are drawn from any data, and contain nothing else."""

import gzip
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cachetools import LRUCache

from nwx.charts import fields, pictures, specs, treemap
from nwx.charts.fields import Spec, criterion_field, drawable, feature_field
from nwx.charts.pictures import (
    DrawingBusyError,
    DrawingError,
    DrawingProcesses,
    TaskRefusedError,
    TaskTimeoutError,
    browser_bundle,
    bundle_version,
    draw_picture,
)
from nwx.facets.criteria import Criterion
from nwx.facets.question import Feature

MONTH = criterion_field(Criterion.MONTH)
SITE = criterion_field(Criterion.SITE)
STATUS = criterion_field(Criterion.STATUS)
BYTES = feature_field(Feature.BYTES)
RATIO = feature_field(Feature.DUPLICATION_RATIO)

NAMES = (
    "example.org",
    "</text><script>alert(1)</script>",
    '"]), window.alert(1), (["',
    "{{7*7}} ${7*7} \\u0041 '",
    drawable("\x00\x1b[31m \u202egro.elpmaxe \u2028\u2029 \ud83d \uffff"),
    "",
)
ROWS = [
    {"month": month, "site": name, "status": status, "bytes": 10 ** (3 + place), **ratio}
    for month, ratio in (
        ("2013-01", {"duplication_ratio": 1.5}),
        ("2013-02", {"duplication_ratio": None}),
    )
    for place, name in enumerate(NAMES)
    for status in ("ok", "request_error")
]
ORDERED = replace(SITE, order=NAMES)

CHARTS: dict[str, Callable[[], Spec]] = {
    "bars": lambda: specs.bars(SITE, BYTES),
    "columns": lambda: specs.bars(MONTH, BYTES),
    "stacked": lambda: specs.stacked(MONTH, ORDERED, BYTES),
    "stacked names": lambda: specs.stacked(SITE, STATUS, BYTES),
    "share": lambda: specs.stacked(SITE, STATUS, BYTES, share=True),
    "grouped": lambda: specs.grouped_bars(MONTH, ORDERED, BYTES, clickable=True),
    "lines": lambda: specs.lines(MONTH, RATIO),
    "many lines": lambda: specs.lines(MONTH, BYTES, ORDERED),
    "heat": lambda: specs.heat_map(MONTH, SITE, BYTES),
}


def _sized(name: str, rows: list[dict[str, Any]]) -> Spec:
    if name == "treemap":
        return treemap.sized_treemap(
            treemap.treemap_with_rows(treemap.treemap(SITE, BYTES), rows), 600
        )
    return specs.sized_spec(specs.spec_with_rows(CHARTS[name](), rows), 600, 6)


def _marks(svg: bytes) -> Iterator[ET.Element]:
    for element in ET.fromstring(svg).iter():
        if "role-mark" in element.get("class", ""):
            yield from element.iter("{http://www.w3.org/2000/svg}path")


@pytest.mark.parametrize("name", [*CHARTS, "treemap"])
def test_hostile_names_are_words(name: str) -> None:
    svg = draw_picture(_sized(name, ROWS), fields.config("light", background=True), "svg")
    tags = {element.tag.rpartition("}")[2] for element in ET.fromstring(svg).iter()}
    assert tags <= {
        "svg",
        "g",
        "path",
        "rect",
        "line",
        "text",
        "defs",
        "linearGradient",
        "stop",
    } | {"clipPath"}
    assert len(list(_marks(svg))) >= 1


@pytest.mark.parametrize("name", ["bars", "stacked", "lines", "treemap"])
def test_nothing_to_draw_is_drawn(name: str) -> None:
    assert draw_picture(_sized(name, []), fields.config("dark", background=True), "svg").startswith(
        b"<svg"
    )


def test_a_bar_is_as_long_as_its_number() -> None:
    rows = [{"site": "a", "bytes": 400}, {"site": "b", "bytes": 100}]
    spec = specs.sized_spec(specs.spec_with_rows(specs.bars(SITE, BYTES), rows), 600, 2)
    svg = draw_picture(spec, fields.config("light"), "svg").decode()
    outlines = re.findall(r'aria-roledescription="bar" d="([^"]+)"', svg)
    ends = [max(float(x) for x in re.findall(r"[MLC]([0-9.]+),", line)) for line in outlines]
    assert ends[0] == pytest.approx(4 * ends[1], rel=0.01)


def test_pictures_come_as_png_too() -> None:
    png = draw_picture(_sized("bars", ROWS), fields.config("dark", background=True), "png")
    assert png.startswith(b"\x89PNG\r\n")


def test_a_chart_loads_nothing() -> None:
    spec = {**specs.bars(SITE, BYTES), "data": {"url": "http://127.0.0.1:9/rows.json"}}
    with pytest.raises(DrawingError, match="could not be drawn"):
        draw_picture(spec, fields.config("light"), "svg")


def test_a_chart_that_makes_no_sense_is_told() -> None:
    with pytest.raises(DrawingError, match="could not be drawn"):
        draw_picture({"mark": "nonsense"}, fields.config("light"), "svg")


def test_a_chart_that_takes_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "TIMEOUT_SECONDS", 0.0)
    with pytest.raises(DrawingError, match="not drawn within"):
        draw_picture(_sized("bars", ROWS[2:]), fields.config("light"), "svg")


def test_whoever_would_wait_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_WAIT_SECONDS", 0.01)
    with pictures._slot(), pictures._slot(), pytest.raises(DrawingBusyError, match="try again"):
        draw_picture(_sized("bars", ROWS[3:]), fields.config("light"), "svg")
    assert draw_picture(_sized("bars", []), fields.config("light"), "svg")


def test_a_picture_that_was_drawn_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, looks = _sized("bars", ROWS), fields.config("light", background=True)
    first = draw_picture(spec, looks, "svg")
    monkeypatch.setattr(pictures, "TIMEOUT_SECONDS", 0.0)
    assert draw_picture(json.loads(json.dumps(spec)), looks, "svg") == first
    with pytest.raises(DrawingError, match="not drawn within"):
        draw_picture(_sized("bars", ROWS[1:]), looks, "svg")
    with pytest.raises(DrawingError, match="not drawn within"):
        draw_picture(spec, fields.config("light"), "svg")
    with pytest.raises(DrawingError, match="not drawn within"):
        draw_picture(spec, looks, "png")


def test_the_pictures_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: LRUCache[bytes, bytes] = LRUCache(30_000, getsizeof=len)
    monkeypatch.setattr(pictures, "_KEPT", kept)
    monkeypatch.setattr(pictures, "KEPT_BYTES", 30_000)
    looks = fields.config("light", background=True)
    sizes = [len(draw_picture(_sized(name, ROWS), looks, "svg")) for name in CHARTS]
    assert sum(sizes) > 30_000
    assert 0 < sum(map(len, kept.values())) <= 30_000


def test_specifications_are_plain_json() -> None:
    for name in [*CHARTS, "treemap"]:
        assert json.loads(json.dumps(_sized(name, []))) == _sized(name, [])


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    browser_bundle.cache_clear()
    yield
    browser_bundle.cache_clear()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The completed tasks, all with the same result."""
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
        monkeypatch.setattr(pictures, "version", lambda name, number=number: number)
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


SECONDS = 60.0


def task(text: str = "a") -> dict[str, Any]:
    """Return a task that draws a text."""
    marks = [{"type": "text", "encode": {"enter": {"text": {"value": text}}}}]
    return {"task": "svg", "spec": {"marks": marks}, "config": {"background": "white"}}


def test_a_task_that_is_refused_or_ends_the_process_leaves_the_next_alone() -> None:
    processes = DrawingProcesses()
    assert b">one</text>" in processes.do(task("one"), SECONDS)
    with pytest.raises(TaskRefusedError, match="conversion failed"):
        processes.do({**task(), "spec": {"mark": "nonsense"}}, SECONDS)
    with pytest.raises(TaskRefusedError):
        processes.do(task("a\x00b"), SECONDS)
    assert b">two</text>" in processes.do(task("two"), SECONDS)
    with pytest.raises(TaskTimeoutError):
        processes.do(task(), 0.0)
