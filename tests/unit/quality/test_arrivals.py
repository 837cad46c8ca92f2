"""Which arriving pages are checked, including those repaired by new captures."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from queue import Empty, SimpleQueue

import pytest

from nwx.captures import PagePlace, page_places
from nwx.engine.base import open_engine
from nwx.errors import UsageError
from nwx.importing import ImportOptions, import_files
from nwx.quality.arrivals import ArrivalSample, check_arrivals
from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask
from nwx.quality.playback_check import PlaybackCheck, PlaybackReport, check_pages
from nwx.settings import Settings
from nwx.values.urlkeys import urlkey
from nwx.warc.sources import expand
from tests.renders import page_record
from tests.warc_records import http_response, warc_bytes, write_records

PAGES = [
    PagePlace(str(number), f"http://a.example/{number}", "2020", "web", "a.warc.gz", number)
    for number in range(200)
]
LOGO = "http://a.example/logo"


@pytest.mark.parametrize(
    ("text", "most", "share"), [("5", 5, 1.0), ("0.1", 0, 0.1), ("25%", 0, 0.25), ("100%", 0, 1.0)]
)
def test_a_sample_is_a_number_or_a_share(text: str, most: int, share: float) -> None:
    assert ArrivalSample.parse(text) == ArrivalSample(most, share)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "150%", "many", "nan", "inf"])
def test_other_samples_are_errors(text: str) -> None:
    with pytest.raises(UsageError, match="sample"):
        ArrivalSample.parse(text)


def test_pages_are_chosen_by_chance_and_the_same_each_time() -> None:
    five = ArrivalSample(most=5).chosen(PAGES)
    assert len(five) == 5
    assert five == ArrivalSample(most=5).chosen(PAGES)
    assert [page.offset for page in five] == sorted(page.offset for page in five)
    assert 20 < len(ArrivalSample(share=0.25).chosen(PAGES)) < 80
    assert ArrivalSample(share=1.0).chosen(PAGES) == PAGES
    assert ArrivalSample(most=5).chosen([]) == []


class _Browser:
    """Renders pages that lack a logo until one exists."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self.has_logo = False

    def render(self, tasks: Iterable[RenderTask]) -> Iterator[PageRender]:
        for task in tasks:
            self.urls.append(task.url)
            logo = PlayedResource(LOGO, 200 if self.has_logo else 404, type="image")
            yield PageRender(task, resources=(PlayedResource(task.url, 200), logo), status=200)


def test_pages_are_checked_as_they_come_and_again_when_they_are_mended(tmp_path: Path) -> None:
    settings = Settings(engine=str(tmp_path / "archive"))
    arrivals: SimpleQueue[PagePlace | None] = SimpleQueue()
    browser, reports = _Browser(), list[PlaybackReport]()

    def load(name: str, url: str) -> None:
        path = write_records(tmp_path / name, [page_record(url, "2020-01-01T00:00:00Z")])
        with open_engine(settings) as engine:
            engine.create()
            import_files(
                engine,
                settings,
                expand([str(path)]),
                ImportOptions(jobs=1),
                on_documents=lambda source, pages: [arrivals.put(page) for page in pages],
            )

    load("a.warc.gz", "http://a.example/page")
    first = arrivals.get()
    arrivals.put(first)
    arrivals.put(None)
    with open_engine(settings) as engine:
        check_arrivals(engine, browser, PlaybackCheck(force=True), arrivals, reports.append)
    assert browser.urls == ["http://a.example/page"]
    assert [report.faulty for report in reports] == [1]
    browser.has_logo = True
    load("b.warc.gz", LOGO)
    arrivals.put(None)
    with open_engine(settings) as engine:
        check_arrivals(engine, browser, PlaybackCheck(force=True), arrivals, reports.append)
    assert browser.urls == ["http://a.example/page", LOGO, "http://a.example/page"]
    assert [report.faulty for report in reports] == [1, 0, 0]


class _Script:
    """A queue that returns pages and, when empty, runs actions."""

    def __init__(self, *steps: PagePlace | Callable[[], object] | None) -> None:
        self._steps = list(steps)

    def get(self, timeout: float = 0) -> PagePlace | None:
        step = self._steps.pop(0)
        if callable(step):
            step()
            raise Empty
        return step

    get_nowait = get


def test_pages_are_mended_by_what_is_no_page_and_lost_ones_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.quality.arrivals._WAIT_SECONDS", 0.0)
    settings = Settings(engine=str(tmp_path / "archive"))
    url = "http://a.example/page"
    logo = warc_bytes("response", http_response(b"logo", "image/png"), id="l", url=LOGO)
    browser, reports, passed = _Browser(), list[PlaybackReport](), list[str]()
    with open_engine(settings) as engine:
        engine.create()

        def load(name: str, record: bytes) -> None:
            path = write_records(tmp_path / name, [record])
            import_files(engine, settings, expand([str(path)]), ImportOptions(jobs=1))

        load("a.warc.gz", page_record(url, "2020-01-01T00:00:00Z"))
        (capture,) = engine.captures(urlkey(url))
        page = next(page_places([capture]))
        script = _Script(
            page, PAGES[0], lambda: None, lambda: load("b.warc.gz", logo), lambda: None, None
        )
        check_arrivals(
            *(engine, browser, PlaybackCheck(force=True), script, reports.append),
            passed=passed.append,
        )
    assert browser.urls == [url, url]
    assert [(report.pages, report.problems_total) for report in reports] == [(1, 1), (1, 0)]
    assert "not in the archive" in reports[0].problems[0]
    assert passed == ["web/a.warc.gz@0"]


def test_new_pages_do_not_wait_for_all_that_were_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.quality.arrivals._MENDED_AT_ONCE", 1)
    settings = Settings(engine=str(tmp_path / "archive"))
    urls = [f"http://a.example/{number}" for number in range(3)]
    logo = warc_bytes("response", http_response(b"logo", "image/png"), id="l", url=LOGO)
    browser = _Browser()
    with open_engine(settings) as engine:
        engine.create()

        def load(name: str, records: list[bytes]) -> None:
            path = write_records(tmp_path / name, records)
            import_files(engine, settings, expand([str(path)]), ImportOptions(jobs=1))

        load("a.warc.gz", [page_record(url, "2020-01-01T00:00:00Z") for url in urls])
        captures = [capture for url in urls for capture in engine.captures(urlkey(url))]
        check_pages(engine, browser, PlaybackCheck(), captures[:2])
        browser.urls.clear()
        load("b.warc.gz", [logo])
        new = next(page_places(captures[2:]))
        script = _Script(lambda: None, new, lambda: None, None)
        check_arrivals(engine, browser, PlaybackCheck(force=True), script, lambda report: None)
    assert browser.urls == [urls[0], urls[2], urls[1]]
