"""Term statistics of a growing archive."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.importing import ImportOptions, import_files
from nwx.settings import Settings
from nwx.steering import score_writer
from nwx.steering.options import SteeringOptions, SteeringPlan
from nwx.steering.pages import PageTask, unanalysed_pages
from nwx.steering.score_writer import CurrentStatistics
from nwx.steering.steering_run import SteeringRun
from nwx.warc.sources import expand
from tests.hostile_analysis import STONES, CountingAnalyzer, stone_pages
from tests.warcs import write_warc


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(str(tmp_path / "archive"))


@pytest.fixture
def engine(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    monkeypatch.setattr(score_writer, "_FEW_DOCUMENTS", 1)
    monkeypatch.setattr(score_writer, "_LOOK_SECONDS", 0.0)
    with open_engine(settings) as opened:
        opened.create()
        yield opened


def load(engine: Engine, settings: Settings, path: Path, pages: int) -> None:
    sources = expand([str(write_warc(path, stone_pages(pages)))])
    import_files(engine, settings, sources, ImportOptions(jobs=1))


def test_they_are_read_anew_when_an_archive_has_grown(
    engine: Engine, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statistics = CurrentStatistics(engine, STONES)
    assert statistics.terms.documents == 0
    assert not statistics.renew()
    load(engine, settings, tmp_path / "a.warc.gz", 6)
    assert statistics.renew()
    assert (statistics.terms.documents, statistics.terms.frequencies) == (6, {"granite": 3})
    load(engine, settings, tmp_path / "b.warc.gz", 8)
    assert not statistics.renew()
    monkeypatch.setattr(score_writer, "_LOOK_SECONDS", 3600.0)
    statistics = CurrentStatistics(engine, STONES)
    load(engine, settings, tmp_path / "c.warc.gz", 60)
    assert not statistics.renew()


def test_a_run_goes_on_with_new_statistics(
    engine: Engine, settings: Settings, tmp_path: Path
) -> None:
    options = SteeringOptions(jobs=1, make_analyzer=CountingAnalyzer)
    with SteeringRun(engine, SteeringPlan(settings, STONES, options)) as run:
        for count in (1, 20):
            load(engine, settings, tmp_path / f"{count}.warc.gz", count)
            for batch in unanalysed_pages(engine, STONES, run.version):
                analyse(run, batch.tasks)
            run.flush()
    scores = [score.score for score in engine.crawl_index().document_scores("stones")]
    assert sorted(scores) == [0.0, *[0.02] * 19]


def analyse(run: SteeringRun, pages: list[PageTask]) -> None:
    run.offer(pages)
    while run.is_busy:
        run.turn()
