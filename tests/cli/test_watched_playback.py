"""nwx watch --check-playback: jobs and messages of its listener, with a fake browser."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nwx.bulk.child_processes import ChildFunction
from nwx.captures import PagePlace
from nwx.cli.quality.check_playback import PlaybackListener, playback_listener
from nwx.engine.base import open_engine
from nwx.importing import ImportOptions
from nwx.quality.arrivals import ArrivalSample
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource, expand
from nwx.watching import WatchOptions, watch
from tests.cli.conftest import Nwx
from tests.cli.made_up_browser import LOGO, check_with_it, die, die_in_a_message
from tests.renders import page_record
from tests.warc_records import write_records

HOME = "http://a.example/"
Listen = Callable[..., PlaybackListener]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Settings of the test's own archive."""
    return Settings(engine=str(tmp_path / "archive"), browser="none")


@pytest.fixture
def listen(settings: Settings) -> Iterator[Listen]:
    """Creates a listener whose process calls another function."""
    made: list[PlaybackListener] = []

    def listener(
        function: ChildFunction = check_with_it, *, as_json: bool = False
    ) -> PlaybackListener:
        sample = ArrivalSample(most=5)
        made.append(PlaybackListener(settings, sample, as_json=as_json, function=function))
        return made[-1]

    yield listener
    for one in made:
        one.close()


def _source(folder: Path) -> ArchiveSource:
    path = write_records(folder / "a.warc.gz", [page_record(HOME, "2020-01-01T00:00:00Z")])
    (source,) = expand([str(path)])
    return source


def _page(offset: int) -> PagePlace:
    return PagePlace("0" * 32, HOME, "20200101000000", "web", "gone.warc.gz", offset)


def test_pages_are_checked_as_files_are_loaded(
    tmp_path: Path, settings: Settings, listen: Listen, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    _source(folder)
    listener = listen(as_json=True)
    options = WatchOptions(ImportOptions(jobs=1), once=True, settle_seconds=0)
    watch(settings, [folder], options, lambda event: None, lambda: False, listener)
    listener.finish(lambda: False)
    out, err = capsys.readouterr()
    found = json.loads(out)
    assert (found["event"], found["url"], found["faults_total"]) == ("checked", HOME, 1)
    assert [fault["resource"] for fault in found["faults"]] == [LOGO]
    assert "without its sandbox" in err
    assert "not checked" not in err
    with open_engine(settings) as engine:
        (score,) = engine.quality_index().scan()
    assert score.url == HOME
    assert score.playback_view is not None
    assert Path(score.playback_view.path).parent == tmp_path / "archive" / "renders"


def test_pages_that_are_not_there_are_told_and_wait_no_longer(
    tmp_path: Path, settings: Settings, listen: Listen, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_engine(settings) as engine:
        engine.create()
    listener = listen()
    listener.on_documents(_source(tmp_path), [_page(0), _page(1)])
    listener.finish(lambda: False)
    err = capsys.readouterr().err
    assert err.count("its capture is not in the archive") == 2
    assert "`nwx check-playback` checks them" not in err


@pytest.mark.parametrize("function", [die, die_in_a_message])
def test_a_process_that_dies_is_told_and_its_pages_are_counted(
    tmp_path: Path, listen: Listen, capsys: pytest.CaptureFixture[str], function: ChildFunction
) -> None:
    listener = listen(function)
    listener.on_documents(_source(tmp_path), [_page(0), _page(1)])
    listener.finish(lambda: False)
    err = capsys.readouterr().err
    assert "playback checks ended: the process ended with 9" in err
    assert "2 pages not checked" in err


def test_an_archive_that_cannot_be_opened_is_told(
    tmp_path: Path, settings: Settings, listen: Listen, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(settings.engine).write_text("no folder")
    listener = listen()
    listener.on_documents(_source(tmp_path), [_page(0)])
    listener.finish(lambda: False)
    err = capsys.readouterr().err
    assert "playback checks ended: " in err
    assert settings.engine in err
    assert "1 page not checked" in err


def test_nobody_listens_where_no_sample_is_asked_for(settings: Settings) -> None:
    with playback_listener(settings, None, None, as_json=False) as listener:
        assert listener is None


def test_wrong_samples_and_browsers_are_said_before_the_watch_begins(
    nwx: Nwx, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    given = "watch", tmp_path / "in", "--once", "--check-playback"
    assert "is not a sample" in nwx(*given, "none", code=2).err
    assert "there is no browser at" in nwx(*given, "5", code=2, NWX_BROWSER="/none").err
