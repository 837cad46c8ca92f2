"""Checks of playback on every engine, by a fake browser."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import PlaybackScore
from nwx.errors import QueryError, SourceError
from nwx.importing import ImportOptions, import_files
from nwx.model import Comparison, RenderPlace
from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask
from nwx.quality.page_check import RULES
from nwx.quality.page_choice import (
    PageChoice,
    chosen_pages,
    repaired_captures,
    repaired_pages,
)
from nwx.quality.playback_check import (
    PlaybackCheck,
    PlaybackReport,
    check_playback,
    fault_json,
    score_json,
)
from nwx.values.render_names import FaultKind
from nwx.warc.sources import expand
from tests.conformance.archive import settings_of
from tests.conformance.engines import new_archive
from tests.renders import page_information, page_record, picture, render
from tests.warc_records import http_response, warc_bytes, write_records

ABOVE_ENGINES = True

HOME, ABOUT, OLD = (f"http://a.example/{name}" for name in ("", "about", "old"))
STYLE, DEAD, LOGO = (f"http://a.example/{name}" for name in ("s.css", "dead.png", "logo.png"))
FIRST, LATER = "2020-01-01T00:00:00Z", "2020-03-01T00:00:00Z"
THEN, NOW = "20200101000000", "20200301000000"


def _resource(url: str, date: str, status: str = "200 OK") -> bytes:
    block = http_response(b"body { color: red }", "text/css").replace(b"200 OK", status.encode())
    return warc_bytes("response", block, id=f"{url} {date}", url=url, date=date)


def _renders(url: str, date: str, resources: dict[str, int], **fields: str) -> list[bytes]:
    info = page_information(url, resources)
    return [
        render(f"urn:view:{url}", picture(text="view"), "image/png", date, **fields),
        render(f"urn:text:{url}", b"the text", "text/plain", date, **fields),
        render(f"urn:pageinfo:{url}", info, "application/json", date, **fields),
    ]


RECORDS = [
    page_record(HOME, FIRST, "first"),
    page_record(HOME, LATER, "later"),
    page_record(ABOUT, LATER, "about"),
    page_record(OLD, FIRST, "old"),
    _resource(STYLE, LATER),
    _resource(DEAD, LATER, "404 Not Found"),
    *_renders(HOME, LATER, {HOME: 200, STYLE: 200, DEAD: 404, LOGO: 200}),
]


def _load(engine: Engine, folder: Path, name: str, records: list[bytes]) -> None:
    path = write_records(folder / name, records)
    options = ImportOptions(jobs=1, collection="web")
    import_files(engine, settings_of(engine), expand([str(path)]), options)


@pytest.fixture(scope="module")
def loaded(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """An archive of three pages, one of which has renders of its crawl."""
    folder = tmp_path_factory.mktemp(kind)
    with new_archive(kind, folder, request) as opener, opener() as opened:
        opened.create()
        _load(opened, folder, "a.warc.gz", RECORDS)
        opened.refresh()
        yield opened


@pytest.fixture
def filled(loaded: Engine) -> Engine:
    """The same archive, without scores."""
    index = loaded.quality_index()
    index.remove([score.id for score in index.scan()])
    return loaded


Change = Callable[[PageRender], PageRender]


class MadeUpBrowser:
    """Renders each page with one style sheet, like a browser that has visited it."""

    def __init__(self, change: Change = lambda render: render, dies_after: int = 99) -> None:
        self.tasks: list[RenderTask] = []
        self._change, self._left = change, dies_after

    def render(self, tasks: Iterable[RenderTask]) -> Iterator[PageRender]:
        """Yield a render for each task."""
        for task in tasks:
            if not self._left:
                raise SourceError("the browser cannot be used")
            self._left -= 1
            self.tasks.append(task)
            yield self._change(_played(task))

    @property
    def pages(self) -> list[tuple[str, str]]:
        """URLs and timestamps of the requested pages."""
        return [(task.url, task.timestamp) for task in self.tasks]


def _played(task: RenderTask) -> PageRender:
    urls = [task.url, STYLE, LOGO] if task.url == HOME else [task.url, STYLE]
    resources = tuple(PlayedResource(url, 200, timestamp=task.timestamp) for url in urls)
    view = picture(text="view")
    return PageRender(task, view=view, text="the text", resources=resources, status=200)


def _with(*added: PlayedResource) -> Change:
    urls = {one.url for one in added}

    def change(render: PageRender) -> PageRender:
        kept = [one for one in render.resources if one.url not in urls]
        return replace(render, resources=(*kept, *added))

    return change


def _check(
    engine: Engine, browser: MadeUpBrowser, choice: PageChoice | None = None, **more: object
) -> tuple[PlaybackReport, dict[str, PlaybackScore]]:
    found: dict[str, PlaybackScore] = {}

    def told(score: PlaybackScore) -> None:
        found[score.url] = score

    check = PlaybackCheck(choice or PageChoice(), on_score=told, **more)
    return check_playback(engine, browser, check), found


def test_the_newest_capture_of_each_page_is_checked_and_stored(filled: Engine) -> None:
    browser = MadeUpBrowser()
    report, found = _check(filled, browser)
    assert browser.pages == [(HOME, NOW), (ABOUT, NOW), (OLD, THEN)]
    assert (report.pages, report.checked, report.faulty) == (3, 3, 0)
    assert {score.id for score in filled.quality_index().scan()} == {
        score.id for score in found.values()
    }
    home, about = found[HOME], found[ABOUT]
    assert (home.screenshot, home.structure, home.text, home.score) == (1, 1, 1, 1)
    assert (home.crawl_good, home.crawl_bad, home.replay_good, home.replay_bad) == (3, 1, 3, 0)
    assert (about.screenshot, about.text, about.crawl_good, about.score) == (None, None, None, 1)
    assert home.rules == RULES
    assert home.crawl_view is not None
    assert home.crawl_view.path.endswith("a.warc.gz")


def test_a_page_is_rendered_at_the_size_of_its_screenshot(filled: Engine) -> None:
    browser = MadeUpBrowser()
    _check(filled, browser)
    sizes = {task.url: (task.width, task.height) for task in browser.tasks}
    assert sizes == {HOME: (640, 400), ABOUT: (1920, 1080), OLD: (1920, 1080)}


def test_a_missing_resource_is_a_fault_and_what_failed_in_the_crawl_too_is_none(
    filled: Engine,
) -> None:
    gone = PlayedResource(LOGO, 404, type="image")
    dead = PlayedResource(DEAD, 404, type="image", timestamp=NOW)
    report, found = _check(filled, MadeUpBrowser(_with(gone, dead)))
    (fault,) = found[HOME].faults
    assert fault_json(found[HOME], fault) == {
        "url": HOME,
        "timestamp": NOW,
        "kind": "missing",
        "resource": LOGO,
        "status": 404,
    }
    assert found[HOME].resources == ("example,a)/logo.png",)
    assert found[HOME].score < 1
    assert report.left_aside == 3
    assert score_json(found[HOME]) == {
        "url": HOME,
        "timestamp": NOW,
        "screenshot": 1.0,
        "text": 1.0,
        "resources": {"crawlGood": 3, "crawlBad": 1, "replayGood": 2, "replayBad": 2},
    }


def test_what_the_crawl_loaded_is_missed_even_if_nothing_asks_for_it(filled: Engine) -> None:
    def silent(render: PageRender) -> PageRender:
        kept = [one for one in render.resources if one.url not in (LOGO, STYLE)]
        return replace(render, resources=tuple(kept))

    _, found = _check(filled, MadeUpBrowser(silent))
    assert [(one.kind, one.resource) for one in found[HOME].faults] == [(FaultKind.MISSING, LOGO)]
    assert found[ABOUT].faults == ()


def test_what_is_in_the_archive_and_not_played_failed(filled: Engine) -> None:
    broken = PlayedResource(STYLE, 503, type="stylesheet")
    _, found = _check(filled, MadeUpBrowser(_with(broken)))
    assert [(one.kind, one.status) for one in found[ABOUT].faults] == [(FaultKind.FAILED, 503)]


def test_a_far_resource_is_a_fault_by_the_threshold(filled: Engine) -> None:
    far = PlayedResource(STYLE, 200, timestamp=THEN)
    _, found = _check(filled, MadeUpBrowser(_with(far)))
    assert [one.kind for one in found[HOME].faults] == [FaultKind.FAR]
    assert found[HOME].worst_seconds == 60 * 86_400
    assert found[OLD].faults == ()
    _, found = _check(filled, MadeUpBrowser(_with(far)), force=True, far_seconds=1e9)
    assert found[HOME].faults == ()


def test_pages_are_checked_once_and_again_when_forced(filled: Engine) -> None:
    _check(filled, MadeUpBrowser())
    again = MadeUpBrowser()
    report, _ = _check(filled, again)
    assert (again.tasks, report.pages, report.known, report.checked) == ([], 3, 3, 0)
    report, _ = _check(filled, MadeUpBrowser(), force=True)
    assert report.checked == 3


def test_a_page_is_checked_again_when_a_missing_resource_was_captured(
    engine: Engine, tmp_path: Path
) -> None:
    _load(engine, tmp_path, "a.warc.gz", [page_record(OLD, FIRST), page_record(ABOUT, FIRST)])
    gone = MadeUpBrowser(_with(PlayedResource(LOGO, 404, type="image")))
    _check(engine, gone, PageChoice(urls=(OLD,)))
    assert repaired_pages(engine) == set()
    records = [_resource(LOGO, LATER, "404 Not Found")]
    _load(engine, tmp_path, "error.warc.gz", records)
    assert repaired_pages(engine) == set()
    _load(engine, tmp_path, "b.warc.gz", [_resource(LOGO, LATER)])
    assert len(repaired_pages(engine)) == 1
    again = MadeUpBrowser()
    _, found = _check(engine, again, PageChoice(urls=(OLD,)))
    assert again.pages == [(OLD, THEN)]
    assert found[OLD].faults == ()
    assert repaired_pages(engine) == set()


def test_a_page_is_checked_again_when_what_was_an_error_was_captured_with_success(
    engine: Engine, tmp_path: Path
) -> None:
    error = _resource(LOGO, LATER, "404 Not Found")
    renders = _renders(HOME, LATER, {HOME: 200, LOGO: 200})
    _load(engine, tmp_path, "a.warc.gz", [page_record(HOME, LATER), error, *renders])
    failing = MadeUpBrowser(_with(PlayedResource(LOGO, 404, type="image", timestamp=NOW)))
    _, found = _check(engine, failing)
    assert [(one.kind, one.resource) for one in found[HOME].faults] == [(FaultKind.FAILED, LOGO)]
    assert repaired_pages(engine) == set()
    _load(engine, tmp_path, "b.warc.gz", [_resource(LOGO, LATER)])
    assert repaired_pages(engine) == {found[HOME].id}
    assert [one.url for one in repaired_captures(engine)] == [HOME]
    _, found = _check(engine, failing)
    assert [one.kind for one in found[HOME].faults] == [FaultKind.FAILED]
    assert repaired_pages(engine) == set()


def test_urls_that_are_none_or_no_pages_are_told_once(filled: Engine) -> None:
    missing = "http://a.example/none"
    choice = PageChoice(urls=(OLD, missing, "http://a.example:99999/"))
    report, _ = _check(filled, MadeUpBrowser(), choice)
    assert (report.checked, report.problems_total) == (1, 2)
    assert report.problems[1] == f"{missing}: the archive has no such page"


def test_what_was_scored_stays_when_the_browser_dies(filled: Engine) -> None:
    with pytest.raises(SourceError, match="browser"):
        _check(filled, MadeUpBrowser(dies_after=2))
    assert len(list(filled.quality_index().scan())) == 2
    rest = MadeUpBrowser()
    _check(filled, rest)
    assert rest.pages == [(OLD, THEN)]


def test_a_player_that_is_gone_is_an_error_and_no_fault(filled: Engine) -> None:
    def nothing(render: PageRender) -> PageRender:
        return replace(render, resources=(), problem="navigation: net::ERR_CONNECTION_REFUSED")

    with pytest.raises(SourceError, match="playback no longer answers"):
        _check(filled, MadeUpBrowser(nothing), is_playing=lambda: False)
    assert list(filled.quality_index().scan()) == []
    _, found = _check(filled, MadeUpBrowser(nothing))
    assert (found[HOME].score, found[HOME].faults[0].kind) == (0, FaultKind.FAILED)


@pytest.mark.parametrize(("failures", "faults"), [(1, []), (2, ["timeout"])])
def test_a_page_that_runs_out_of_time_is_rendered_once_more(
    filled: Engine, failures: int, faults: list[str]
) -> None:
    times: list[str] = []

    def slow(render: PageRender) -> PageRender:
        times.append(render.task.url)
        late = render.task.url == HOME and times.count(HOME) <= failures
        return replace(render, problem="timeout" if late else "")

    report, found = _check(filled, MadeUpBrowser(slow))
    assert times == [HOME, ABOUT, OLD, HOME]
    assert [fault.kind for fault in found[HOME].faults] == faults
    assert (report.pages, report.checked) == (3, 3)


def test_a_check_ends_when_told_to(filled: Engine) -> None:
    browser = MadeUpBrowser()
    check = PlaybackCheck()
    report = check_playback(filled, browser, check, stopping=lambda: bool(browser.tasks))
    assert (report.checked, report.known, report.interrupted) == (1, 0, True)


def test_renders_are_kept_and_their_place_is_stored(filled: Engine) -> None:
    kept: list[tuple[str, Comparison]] = []

    def keep(render: PageRender, comparison: Comparison) -> RenderPlace:
        kept.append((render.task.url, comparison))
        return RenderPlace("/renders.warc.gz", 7, 9)

    _, found = _check(filled, MadeUpBrowser(), keep=keep)
    assert kept[0] == (HOME, Comparison(1.0, 1.0, 3, 1, 3, 0))
    assert found[ABOUT].playback_view == RenderPlace("/renders.warc.gz", 7, 9)


def test_renders_of_playback_are_not_taken_for_those_of_the_crawl(
    engine: Engine, tmp_path: Path
) -> None:
    own = _renders(HOME, LATER, {HOME: 200}, **{"NWX-Rendered-From": "playback"})
    _load(engine, tmp_path, "a.warc.gz", [page_record(HOME, LATER), *own])
    _, found = _check(engine, MadeUpBrowser())
    assert (found[HOME].screenshot, found[HOME].text, found[HOME].crawl_good) == (None, None, None)


def test_a_broken_render_is_told_and_the_page_is_checked(engine: Engine, tmp_path: Path) -> None:
    broken = render(f"urn:view:{HOME}", b"\x89PNG nothing", "image/png", LATER)
    info = render(f"urn:pageinfo:{HOME}", b"{", "application/json", LATER)
    _load(engine, tmp_path, "a.warc.gz", [page_record(HOME, LATER), broken, info])
    report, found = _check(engine, MadeUpBrowser())
    assert (report.checked, report.problems_total) == (1, 2)
    assert found[HOME].screenshot is None


@pytest.mark.parametrize(
    ("choice", "pages"),
    [
        (PageChoice(), [(HOME, NOW), (ABOUT, NOW), (OLD, THEN)]),
        (
            PageChoice(every_capture=True),
            [(HOME, THEN), (HOME, NOW), (ABOUT, NOW), (OLD, THEN)],
        ),
        (PageChoice(query="about"), [(ABOUT, NOW)]),
        (PageChoice(query="first"), [(HOME, NOW)]),
        (PageChoice(query="first", every_capture=True), [(HOME, THEN), (HOME, NOW)]),
        (PageChoice(urls=(OLD, "http://a.example/none", "http://")), [(OLD, THEN)]),
        (PageChoice(urls=()), []),
        (PageChoice(collection="web", limit=1), [(HOME, NOW)]),
        (PageChoice(collection="other"), []),
        (PageChoice(query="about", collection="other"), []),
    ],
)
def test_pages_are_chosen(filled: Engine, choice: PageChoice, pages: list[tuple[str, str]]) -> None:
    found = [(one.url, one.timestamp) for one in chosen_pages(filled, choice)]
    assert found == pages


def test_a_sample_is_the_same_each_time(filled: Engine) -> None:
    samples = [[one.url for one in chosen_pages(filled, PageChoice(sample=2))] for _ in range(2)]
    assert samples[0] == samples[1]
    assert len(samples[0]) == 2
    assert len(list(chosen_pages(filled, PageChoice(sample=9)))) == 3


def test_a_wrong_query_is_an_error(filled: Engine) -> None:
    with pytest.raises(QueryError):
        list(chosen_pages(filled, PageChoice(query="title:(")))
