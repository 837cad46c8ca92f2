"""Test what counts as a fault."""

from nwx.engine.quality.quality_index import Fault
from nwx.quality.browser.page_render import PageRender, RenderTask
from nwx.quality.playback.distances import Distances, FarResource
from nwx.quality.playback.faults import (
    ERROR_ONLY,
    PageEvidence,
    page_faults,
    resource_faults,
)
from nwx.quality.playback.suspects import Suspect
from nwx.quality.renders.page_information import PageInfo
from nwx.values.fault_kinds import FaultKind

TASK = RenderTask("http://a.example/", "20200101000000")
X, KEY = "http://a.example/x", "example,a)/x"


def _suspect(status: int = 404, **more: bool) -> Suspect:
    flags = {"is_archived": False, "was_good": False, **more}
    return Suspect(X, KEY, status, "image", **flags)


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
    assert (fault.resource, fault.status) == (X, 404)


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
    far = Distances(0, 0, (FarResource(X, 200, -40 * 86_400), FarResource(X, 200, 86_400)))
    faults = page_faults(PageEvidence(PageRender(TASK), None, (), {}, far))
    assert [fault.detail for fault in faults] == [
        "40 days before the page",
        "1 day after the page",
    ]
