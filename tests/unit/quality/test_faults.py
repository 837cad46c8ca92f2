"""What counts as a fault."""

import time

import pytest

from nwx.engine.indices.quality_index import Fault
from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask
from nwx.quality.faults import (
    ERROR_ONLY,
    Distances,
    FarResource,
    PageEvidence,
    Suspect,
    is_icon,
    is_volatile,
    page_faults,
    resource_faults,
    resource_key,
    short_text,
    suspects,
    wrong_status,
)
from nwx.quality.page_information import PageInfo, PageResource
from nwx.values.render_names import FaultKind

PAGE = "20200101000000"  # 1577836800


@pytest.mark.parametrize(
    "query",
    [
        "_=1577836801234",
        "cb=123456",
        "x=0.7340192837465",
        "a=1&amp;rnd=99999",
        "1577836805",
        "t=1577836800.25",
    ],
)
def test_addresses_made_of_the_time_or_by_chance_are_volatile(query: str) -> None:
    assert is_volatile(f"http://a.example/counter.gif?{query}", PAGE)


def test_an_address_made_of_the_present_time_is_volatile() -> None:
    assert is_volatile(f"http://a.example/x?when={int(time.time())}123", PAGE)


@pytest.mark.parametrize(
    "query", ["", "v=1500000000", "ver=4.9.1", "id=123456", "cb=12", "page=2", "_", "size=1024x768"]
)
def test_versions_of_files_are_not(query: str) -> None:
    assert not is_volatile(f"http://a.example/style.css?{query}", PAGE)


def test_a_page_without_a_time_is_no_problem() -> None:
    assert not is_volatile("http://a.example/x?t=1577836800", "")


def test_browsers_ask_for_icons_by_themselves() -> None:
    assert is_icon("http://a.example/favicon.ico")
    assert not is_icon("http://a.example/icons/favicon.ico")


TASK = RenderTask("http://a.example/", "20200101000000")
X = "http://a.example/x"


def _render(*resources: PlayedResource) -> PageRender:
    return PageRender(TASK, resources=resources)


def _info(*resources: PageResource) -> PageInfo:
    return PageInfo("http://a.example/", "20200101000000", resources)


def _urls(render: PageRender, info: PageInfo | None = None) -> list[str]:
    return [one.url for one in suspects(render, info).found]


def test_what_came_is_no_suspect() -> None:
    render = _render(PlayedResource(X, 200), PlayedResource("http://a.example/y", 301))
    assert _urls(render) == []


@pytest.mark.parametrize("status", [0, 404, 503])
def test_what_did_not_come_is_one(status: int) -> None:
    (found,) = suspects(_render(PlayedResource(X, status, type="image")), None).found
    assert (found.url, found.status, found.is_archived, found.was_good) == (X, status, False, False)


def test_one_good_answer_is_enough() -> None:
    assert _urls(_render(PlayedResource(X, 200), PlayedResource(X, 404))) == []
    assert _urls(_render(PlayedResource(X, 404), PlayedResource(X, 200))) == []


def test_an_error_that_was_archived_is_none_unless_the_crawl_had_it_good() -> None:
    render = _render(PlayedResource(X, 404, type="image", timestamp="20200101000000"))
    assert suspects(render, None).left_aside == 1
    assert _urls(render) == []
    assert _urls(render, _info(PageResource(X, 404, "", "image"))) == []
    assert _urls(render, _info(PageResource(X, 200, "", "image"))) == [X]


@pytest.mark.parametrize("status", [0, 404, 500])
def test_what_failed_in_the_crawl_too_is_left_aside(status: int) -> None:
    info = _info(PageResource(X, status, "", "stylesheet"))
    found = suspects(_render(PlayedResource(X, 404, type="stylesheet")), info)
    assert (found.found, found.left_aside) == ((), 1)


@pytest.mark.parametrize("type", ["ping", "Ping", "preflight", "cspviolationreport"])
def test_signals_are_left_aside(type: str) -> None:
    assert _urls(_render(PlayedResource(X, 404, type=type))) == []


def test_icons_are_left_aside_unless_the_crawl_had_them() -> None:
    icon = "http://a.example/favicon.ico"
    assert _urls(_render(PlayedResource(icon, 404, type="other"))) == []
    assert _urls(_render(PlayedResource(icon, 404)), _info(PageResource(icon, 200, "", ""))) == [
        icon
    ]


def test_volatile_addresses_are_left_aside_but_for_styles_and_those_of_the_crawl() -> None:
    url = f"{X}?_=1577836801234"
    assert _urls(_render(PlayedResource(url, 404, type="script"))) == []
    assert _urls(_render(PlayedResource(url, 404, type="stylesheet"))) == [url]
    info = _info(PageResource(url, 200, "", "script"))
    assert _urls(_render(PlayedResource(url, 404, type="script")), info) == [url]


def test_what_the_crawl_did_not_ask_for_is_left_aside_but_for_styles() -> None:
    render = _render(
        PlayedResource(X, 404, type="xhr"), PlayedResource(f"{X}.png", 404, type="image")
    )
    assert _urls(render) == [X, f"{X}.png"]
    assert _urls(render, _info()) == []
    style = _render(PlayedResource(X, 404, type="stylesheet"))
    assert _urls(style, _info()) == [X]


def test_what_the_crawl_loaded_and_playback_does_not_ask_for_is_one() -> None:
    info = _info(
        PageResource(X, 200, "image/png", "image"),
        PageResource("http://a.example/y", 200, "text/css", ""),
        PageResource("http://a.example/beacon", 204, "", "ping"),
        PageResource("http://a.example/dead", 404, "image/png", "image"),
        PageResource("blob:x", 200, "image/png", "image"),
    )
    found = suspects(_render(), info).found
    assert [one.url for one in found] == [X, "http://a.example/y"]
    assert not any(one.was_asked for one in found)


def test_keys_are_of_the_web_alone() -> None:
    assert resource_key("https://www.a.example/X?b=1") == "example,a)/x?b=1"
    assert resource_key("data:text/plain,x") == ""
    assert resource_key("urn:view:http://a.example/") == ""


FAULTS_X, KEY = "http://a.example/x", "example,a)/x"


def _suspect(status: int = 404, **more: bool) -> Suspect:
    flags = {"is_archived": False, "was_good": False, **more}
    return Suspect(FAULTS_X, KEY, status, "image", **flags)


def _faults(render: PageRender, info: PageInfo | None = None) -> list[Fault]:
    return page_faults(PageEvidence(render, info, (), {}, Distances()))


def _kinds(suspect: Suspect, archived: int | None = None) -> list[str]:
    statuses = {} if archived is None else {KEY: archived}
    return [fault.kind for fault in resource_faults([suspect], statuses)]


def test_what_the_archive_lacks_is_missing() -> None:
    assert _kinds(_suspect()) == [FaultKind.MISSING]
    assert _kinds(_suspect(0)) == [FaultKind.MISSING]
    assert _kinds(_suspect(0, was_good=True, was_asked=False)) == [FaultKind.MISSING]
    (fault,) = resource_faults([_suspect()], {})
    assert (fault.resource, fault.status) == (FAULTS_X, 404)


def test_what_the_archive_has_and_the_player_does_not_play_failed() -> None:
    assert _kinds(_suspect(503), archived=200) == [FaultKind.FAILED]
    assert _kinds(_suspect(404), archived=0) == [FaultKind.FAILED]


def test_what_was_aborted_or_not_asked_for_and_is_there_is_no_fault() -> None:
    assert _kinds(_suspect(0), archived=200) == []
    assert _kinds(_suspect(0, was_good=True, was_asked=False), archived=200) == []


def test_errors_that_were_archived_are_faults_only_where_the_crawl_had_better() -> None:
    assert _kinds(_suspect(404), archived=404) == []
    assert _kinds(_suspect(404, was_good=True), archived=404) == [FaultKind.FAILED]
    assert _kinds(_suspect(410, was_good=True, is_archived=True)) == [FaultKind.FAILED]
    assert _kinds(_suspect(0, was_good=True, was_asked=False), archived=500) == [FaultKind.FAILED]


def test_only_what_is_archived_with_errors_alone_is_said_to_be() -> None:
    error = _suspect(404, was_good=True, is_archived=True)
    for archived, detail in ((404, ERROR_ONLY), (200, "played from a capture of an error")):
        (fault,) = resource_faults([error], {KEY: archived})
        assert (fault.kind, fault.detail) == (FaultKind.FAILED, detail)


def test_problems_of_the_page_have_their_kinds() -> None:
    kinds = {
        "timeout": FaultKind.TIMEOUT,
        "crash": FaultKind.CRASH,
        "memory": FaultKind.CRASH,
        "redirect loop": FaultKind.REDIRECT_LOOP,
        "navigation: net::ERR_EMPTY_RESPONSE": FaultKind.FAILED,
        "dialogs": FaultKind.REFUSED,
        "download": FaultKind.REFUSED,
    }
    for problem, kind in kinds.items():
        (fault,) = _faults(PageRender(TASK, problem=problem))
        assert (fault.kind, fault.resource, fault.detail) == (kind, TASK.url, problem)


@pytest.mark.parametrize(
    ("captured", "played", "timestamp", "kinds"),
    [
        (200, 404, "20240101000000", [FaultKind.STATUS]),
        (404, 404, "20240101000000", []),
        (301, 200, "20240101000000", []),
        (200, 404, "", []),
    ],
)
def test_another_status_than_that_of_the_capture_is_told(
    captured: int, played: int, timestamp: str, kinds: list[str]
) -> None:
    render = PageRender(TASK, status=played, capture_timestamp=timestamp)
    assert [fault.kind for fault in wrong_status(render, captured)] == kinds


@pytest.mark.parametrize(
    ("text", "alike", "problem", "count"),
    [
        ("x" * 400, 0.4, "", 1),
        ("x" * 400, 0.4, "timeout", 0),
        ("x" * 400, 0.6, "", 0),
        ("x" * 190, 0.4, "", 0),
        (None, None, "", 0),
    ],
)
def test_a_page_with_half_of_its_text_is_cut(
    text: str | None, alike: float | None, problem: str, count: int
) -> None:
    faults = list(short_text(PageRender(TASK, text="x" * 150, problem=problem), text, alike))
    assert [fault.kind for fault in faults] == [FaultKind.SHORT] * count


def test_a_leak_counts_once_for_each_address() -> None:
    leak = "http://live.example/"
    faults = _faults(PageRender(TASK, leaks=(leak, leak, "http://other.example/")))
    assert [(fault.kind, fault.resource) for fault in faults] == [
        (FaultKind.LEAK, leak),
        (FaultKind.LEAK, "http://other.example/"),
    ]


ERRORS = PageRender(
    TASK,
    console_errors=("Failed to load resource: 404", "x is not defined", "y" * 999),
    js_errors=2,
)


def _console(render: PageRender, known: int | None, *lost: Suspect) -> list[Fault]:
    info = PageInfo("", "", (), js_errors=known)
    faults = page_faults(PageEvidence(render, info, lost, {}, Distances()))
    return [fault for fault in faults if fault.kind == FaultKind.CONSOLE]


def test_more_errors_of_scripts_than_in_the_crawl_are_a_fault() -> None:
    assert _console(ERRORS, 1) == [Fault(FaultKind.CONSOLE, detail="x is not defined (1 of 2)")]
    assert _console(ERRORS, 2) == []


def test_errors_that_may_be_the_page_s_own_count_beside_what_is_missing() -> None:
    assert _console(ERRORS, None) == []
    assert len(_console(ERRORS, None, _suspect())) == 1
    assert len(_console(ERRORS, 2, _suspect())) == 1


def test_messages_of_the_network_are_no_errors_of_scripts() -> None:
    network = PageRender(TASK, console_errors=("Failed to load resource: 404",), js_errors=1)
    assert _console(network, 0, _suspect()) == []


def test_details_are_cut() -> None:
    (fault,) = _console(PageRender(TASK, console_errors=("x" * 999,), js_errors=1), 0)
    assert len(fault.detail) < 250


def test_what_pages_may_not_do_is_counted_and_what_is_only_cut_is_not() -> None:
    refused = {"service_workers": 1, "downloads": 2, "unsettled": 1, "text": 1, "dialogs": 0}
    faults = _faults(PageRender(TASK, refused=refused))
    assert [fault.detail for fault in faults] == ["downloads: 2", "service workers: 1"]


def test_far_resources_say_how_far() -> None:
    far = Distances(
        0, 0, (FarResource(FAULTS_X, 200, -40 * 86_400), FarResource(FAULTS_X, 200, 86_400))
    )
    faults = page_faults(PageEvidence(PageRender(TASK), None, (), {}, far))
    assert [fault.detail for fault in faults] == [
        "40 days before the page",
        "1 day after the page",
    ]
