"""The jobs `dedup` and `revisits` compared with the commands of one machine, byte for byte."""

import gzip
import io
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nwx.cdx import inputs
from nwx.cdx.inputs import CdxSource, FilePiece, ReadTask, plan_tasks, ready_inputs
from nwx.cdx.rows import CdxRow
from nwx.dedup.capture_filter import CaptureFilter
from nwx.dedup.duplicates import find_duplicates, find_revisits
from nwx.dedup.policies import Keep, Key
from nwx.dedup.tasks import DedupReport
from nwx.errors import CdxError, UsageError
from nwx.jobs.dedup_lists import ListOptions, list_duplicates, list_revisits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

HOT = "http://hot.example.org/"


def _line(chance: random.Random) -> str:
    """Half of all captures are of one URL, and a quarter of one digest of it."""
    url = chance.choice([HOT, HOT, f"http://example.org/{chance.randrange(50)}"])
    size = chance.choice(["-", "100", "200"])
    digest = chance.choice(["A" * 32, "B" * 32, "-"])
    mime = chance.choice(["text/html", "warc/revisit"])
    second = chance.randrange(100)
    date = 20150101000000 + second // 60 * 100 + second % 60
    return f"k {date} {url} {mime} 200 {digest} - - {size} 5 f\n"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[CdxSource]:
    folder, chance = tmp_path_factory.mktemp("cdx"), random.Random(3)
    found = []
    for name, lines in (("large", 900), ("small", 30), ("held", 20)):
        path = folder / f"{name}.cdx"
        content = [_line(chance) for _ in range(lines)]
        content[5:5] = ["nonsense\n"] if name == "large" else []
        path.write_text("".join(content))
        found.append(CdxSource(str(path), held=name == "held"))
    # The layout changes further down: the file cannot be split.
    path = folder / "layouts.cdx"
    others = ["k 2016 http://example.org/1 text/html 200 " + "A" * 32 + " - 5 f\n"] * 30
    path.write_text("".join([*others, " CDX a b k\n", f"{HOT} 2017 {'B' * 32}\n"]))
    return [*found[:2], CdxSource(str(path)), found[2]]


def _tasks(
    sources: list[CdxSource], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[ReadTask]:
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 9000)
    monkeypatch.setattr(inputs, "_TASK_BYTES", 9000)
    tasks = plan_tasks(ready_inputs(sources, tmp_path), 1)
    assert len(tasks) > 6
    return tasks


def _list(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.glob("part-*.txt")))


@pytest.mark.parametrize(
    "selection",
    [
        CaptureFilter(),
        CaptureFilter(Key.URLKEY_DIGEST, Keep.ORIGINAL),
        CaptureFilter(Key.DIGEST, Keep.LARGEST),
    ],
    ids=str,
)
def test_duplicates_are_those_of_one_machine(
    spark: "SparkSession",
    sources: list[CdxSource],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    selection: CaptureFilter,
) -> None:
    held = [CdxRow("k", "20150101000000", "http://example.org/3", digest="B" * 32)]
    wanted, out = io.BytesIO(), tmp_path / "out"
    report = find_duplicates(sources, wanted, selection, held=held, summary=True)
    tasks = _tasks(sources, tmp_path, monkeypatch)
    options = ListOptions(summary=True)
    found = list_duplicates(spark, tasks, str(out), selection, options, held=held)
    assert _list(out) == wanted.getvalue()
    assert len(list(out.glob("part-*.txt"))) > 3
    assert (out / "_SUCCESS").exists()
    assert found.counts == _counts(report) | {"duplicates": report.duplicates}
    assert [(error.file, error.message) for error in found.errors] == [
        (each.file, f"line {each.line}: {each}") for each in report.problems
    ]
    savings = json.loads((out / "_savings.json").read_text())
    assert savings["host_duplicates"] == dict(report.savings.host_duplicates)
    with pytest.raises(UsageError, match="already exists"):
        list_duplicates(spark, tasks, str(out), selection, options)


def test_nothing_of_a_damaged_file_counts(
    spark: "SparkSession", sources: list[CdxSource], tmp_path: Path
) -> None:
    packed = gzip.compress(Path(sources[0].path).read_bytes() * 20)
    (tmp_path / "cut.cdx.gz").write_bytes(packed[: len(packed) // 2])
    wanted, out = io.BytesIO(), tmp_path / "out"
    report = find_duplicates(sources[1:2], wanted, CaptureFilter())
    # Both files are read by one task, the damaged one first.
    pieces = (FilePiece(CdxSource(str(tmp_path / "cut.cdx.gz"))), FilePiece(sources[1]))
    found = list_duplicates(
        spark, [ReadTask(0, pieces, 0)], str(out), CaptureFilter(), ListOptions()
    )
    assert _list(out) == wanted.getvalue()
    assert found.counts == _counts(report) | {"duplicates": report.duplicates}
    assert [error.file for error in found.errors if error.kind == "read"] == [
        pieces[0].source.shown
    ]
    assert not (out / "_SUCCESS").exists()


def test_a_list_without_lines_has_a_part(spark: "SparkSession", tmp_path: Path) -> None:
    path = tmp_path / "one.cdx"
    path.write_text(f"k 2015 http://example.org/ text/html 200 {'A' * 32} - - 1 5 f\n")
    tasks = plan_tasks(ready_inputs([CdxSource(str(path))], tmp_path), 1)
    list_duplicates(spark, tasks, str(tmp_path / "d"), CaptureFilter(), ListOptions())
    list_revisits(spark, tasks, str(tmp_path / "r"), ListOptions())
    for name in ("d", "r"):
        assert [each.read_bytes() for each in (tmp_path / name).glob("part-*.txt")] == [b""]


def _counts(report: DedupReport) -> dict[str, int]:
    names = ("lines", "keys", "spared", "not_captures", "without_digest", "filtered")
    counts = {name: getattr(report, name) for name in names}
    counts["bytes_saved"] = report.savings.bytes
    return {name: count for name, count in counts.items() if count}


def test_revisits_are_those_of_one_machine(
    spark: "SparkSession", sources: list[CdxSource], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted, out = io.BytesIO(), tmp_path / "out"
    report = find_revisits(sources[:3], wanted)
    tasks = _tasks(sources[:3], tmp_path, monkeypatch)
    found = list_revisits(spark, tasks, str(out), ListOptions())
    assert _list(out) == wanted.getvalue()
    assert found.counts["revisits"] == report.duplicates > 300
    with pytest.raises(CdxError, match=r"large\.cdx:6"):
        list_revisits(spark, tasks, str(tmp_path / "strict"), ListOptions(strict=True))
    assert not (tmp_path / "strict" / "_SUCCESS").exists()
