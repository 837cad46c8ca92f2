"""The job `facets` compared with `nwx build-facets`: the same combinations and answers."""

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from nwx.cdx import inputs as cdx_inputs
from nwx.cdxserver.loaded_lines import load_lines
from nwx.engine.base import Engine, open_engine
from nwx.exports.captures import export_captures
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.counted_facets import COUNTED_COMBINATIONS, load_counted_facets
from nwx.facets.question import AnsweredBy, FacetAnswer, parse_facet_question
from nwx.facets.sites import Sites
from nwx.jobs import facet_rows
from nwx.jobs.facet_rows import capture_inputs
from nwx.jobs.facets import FacetJobOptions, count_facets
from nwx.settings import Settings
from tests.facets import batch, by_chance, stored_entries

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

LEAST = 3
SITES = Sites({"org,example)/": "The example"})


def _answers(engine: Engine) -> list[FacetAnswer]:
    """Return answers from combinations and from columns, none from reading captures."""
    facets = FacetAnswers(engine)
    asked = [("", "site"), ("status=ok", "month,type"), ("", "collection"), ("type=html", "size")]
    found = [
        facets.answer(parse_facet_question([where] if where else [], by, "captures"))
        for where, by in asked
    ]
    assert AnsweredBy.LIVE not in {answer.answered_by for answer in found}
    return [replace(answer, took_ms=0) for answer in found]


def _both(
    spark: "SparkSession", archive: Path, engine: Engine, named: Sequence[str], out: Path
) -> None:
    options = FacetBuildOptions(min_captures=LEAST, sites=SITES, anew=True)
    build_archive_facets(engine, options)
    known, answers = stored_entries(archive / "facets"), _answers(engine)
    report = count_facets(
        spark, capture_inputs(named), str(out), FacetJobOptions(LEAST, SITES, "web")
    )
    assert report.is_whole
    assert report.counts["combinations"] == len(known)
    load_counted_facets(engine, out)
    assert stored_entries(archive / "facets") == known
    assert _answers(engine) == answers
    assert len(pl.read_parquet(out / COUNTED_COMBINATIONS)) == len(known)


def test_an_export_with_revisits_and_a_hot_url(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of all captures are of one URL, including revisits of its payload."""
    captures = by_chance(5, 300)
    original = next(one for one in captures if one.record_type == "response" and one.digest)
    hot = [
        replace(
            original,
            record_type="revisit" if number % 2 else "response",
            timestamp=f"2013{number % 3 + 1:02}02000000",
            source_file_offset=10_000 + number,
            content_type_norm="" if number % 2 else original.content_type_norm,
        )
        for number in range(300)
    ]
    monkeypatch.setattr(facet_rows, "_SLICE_ROWS", 250)
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.write(batch([*captures, *hot]))
        export_captures(engine, tmp_path / "export")
        named = [str(tmp_path / "export")]
        _both(spark, tmp_path / "archive", engine, named, tmp_path / "out")


def test_cdx_files_that_name_records_twice(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cdx_inputs, "_LEAST_TASK_BYTES", 6000)
    monkeypatch.setattr(cdx_inputs, "_TASK_BYTES", 6000)
    chance = random.Random(2)
    lines = []
    for number in range(150):
        url = f"http://{chance.choice(['example.org', 'b.example.co.uk'])}/{chance.randrange(30)}"
        mime = chance.choice(["text/html", "image/png", "warc/revisit", "-"])
        digest = chance.choice(["A" * 32, "B" * 32, "-"])
        date = f"2013{chance.randrange(1, 4):02}01000000"
        lines.append(f"- {date} {url} {mime} 200 {digest} - - 1 {number} f.warc.gz\n")
    first, second = tmp_path / "first.cdx", tmp_path / "second.cdx"
    first.write_text("".join(lines))
    second.write_text("nonsense\n" + "".join(lines[:40]).replace(" 200 ", " 404 "))
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        for path in (first, second):
            content = path.read_bytes().splitlines(keepends=True)
            load_lines(engine, content, "web", skip_bad=True, name=str(path))
        named = [str(first), str(second)]
        _both(spark, tmp_path / "archive", engine, named, tmp_path / "out")
