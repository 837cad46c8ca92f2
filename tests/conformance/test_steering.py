"""Pages are analysed during an import or later, with the same results even after kills."""

import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore
from nwx.importing import ImportOptions, import_files
from nwx.steering.listener import SteeringListener
from nwx.steering.options import SteeringOptions, SteeringPlan
from nwx.steering.steering_run import steer_archive
from nwx.warc.sources import expand
from tests.conformance.archive import settings_of
from tests.conformance.engines import Opener
from tests.hostile_analysis import (
    STONES,
    HostileAnalyzer,
    SlowAnalyzer,
    stone_pages,
)
from tests.warcs import Page, write_warc

ABOVE_ENGINES = True

OPTIONS = SteeringOptions(jobs=1, make_analyzer=HostileAnalyzer)


@contextmanager
def listening(engine: Engine, options: SteeringOptions = OPTIONS) -> Iterator[SteeringListener]:
    with SteeringListener(SteeringPlan(settings_of(engine), STONES, options)) as listener:
        yield listener


def load(
    engine: Engine, path: Path, pages: list[Page], listener: SteeringListener | None = None
) -> None:
    import_files(
        engine,
        settings_of(engine),
        expand([str(write_warc(path, pages))]),
        ImportOptions(jobs=1),
        on_documents=listener.on_documents if listener else None,
    )


def scores(engine: Engine) -> Mapping[str, DocumentScore]:
    return {score.url: score for score in engine.crawl_index().document_scores("stones")}


def queued(engine: Engine) -> Mapping[str, float | None]:
    return {each.url: each.priority for each in engine.crawl_queue().scan("stones")}


def wait_for(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_the_scores_are_the_same_beside_an_import_and_afterwards(
    open_archive: Opener, open_another: Opener, tmp_path: Path
) -> None:
    with open_archive() as beside, open_another() as afterwards:
        beside.create()
        with listening(beside) as listener:
            for start in (0, 8):
                path = tmp_path / f"{start}.warc.gz"
                load(beside, path, stone_pages(8, start=start), listener)
            report = listener.finish()
        assert (report.analysed, report.relevant, report.blacklisted) == (16, 8, 16)
        afterwards.create()
        load(afterwards, tmp_path / "all.warc.gz", stone_pages(16))
        later = steer_archive(afterwards, settings_of(afterwards), STONES, OPTIONS)
        assert (later.analysed, later.links, later.sent) == (16, report.links, report.sent)
        assert scores(beside) == scores(afterwards)
        assert queued(beside) == queued(afterwards) != {}
        assert steer_archive(beside, settings_of(beside), STONES, OPTIONS).analysed == 0


def test_what_is_killed_is_done_again(engine: Engine, tmp_path: Path) -> None:
    options = replace(OPTIONS, make_analyzer=SlowAnalyzer)
    with listening(engine, options) as listener:
        load(engine, tmp_path / "a.warc.gz", stone_pages(24), listener)
        wait_for(lambda: len(scores(engine)) > 0)
        os.kill(listener.process_id or 0, signal.SIGKILL)
        wait_for(lambda: bool(listener.report().stopped))
    done = len(scores(engine))
    assert 0 < done < 24
    report = steer_archive(engine, settings_of(engine), STONES, OPTIONS)
    assert report.analysed == 24 - done
    assert len(scores(engine)) == 24
    spam = {url for url, priority in queued(engine).items() if priority is None}
    assert spam == {f"http://spam.example/{number}" for number in range(24)}
