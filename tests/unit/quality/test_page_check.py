"""Differences in time between resources and their page."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.indices.quality_index import Fault
from nwx.model import Comparison
from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask
from nwx.quality.faults import Distances, Suspect, distances
from nwx.quality.measures import PageLikeness
from nwx.quality.page_check import overall_score
from nwx.values.render_names import FaultKind

TASK = RenderTask("http://a.example/", "20200102000000")


def test_the_worst_and_the_mean_of_what_came() -> None:
    render = PageRender(
        TASK,
        resources=(
            PlayedResource("http://a.example/", 200, timestamp="20200102000000"),
            PlayedResource("http://a.example/x", 200, timestamp="20200101000000"),
            PlayedResource("http://a.example/y", 302, timestamp="20200105000000"),
            PlayedResource("http://a.example/z", 404, timestamp="20100101000000"),
            PlayedResource("http://a.example/a", 200),
            PlayedResource("http://a.example/b", 200, timestamp="garbage"),
        ),
    )
    found = distances(render, far_seconds=2 * 86_400)
    assert (found.worst, found.mean) == (3 * 86_400, 4 * 86_400 // 3)
    assert [(one.url, one.seconds) for one in found.far] == [("http://a.example/y", 3 * 86_400)]
    assert distances(render, far_seconds=1e9).far == ()


def test_without_times_nothing_is_known() -> None:
    render = PageRender(TASK, resources=(PlayedResource("http://a.example/", 200),))
    assert distances(render, 1) == Distances()


OVERALL_TASK = RenderTask("http://a.example/", "20200101000000")
RENDER = PageRender(
    OVERALL_TASK,
    resources=(
        PlayedResource(OVERALL_TASK.url, 200, type="document"),
        PlayedResource("http://a.example/x.png", 200, type="image"),
    ),
)
UNKNOWN = PageLikeness(Comparison())


def _lost(type: str) -> tuple[list[Fault], list[Suspect]]:
    url = f"http://a.example/{type}"
    return [Fault(FaultKind.MISSING, url, 404)], [
        Suspect(url, "", 404, type, is_archived=False, was_good=True)
    ]


def test_a_whole_page_has_one() -> None:
    assert overall_score(RENDER, UNKNOWN, [], []) == 1
    same = PageLikeness(Comparison(1.0, 1.0), 1.0)
    assert overall_score(RENDER, same, [], []) == 1


def test_a_style_sheet_weighs_more_than_an_image() -> None:
    style, image = (
        overall_score(RENDER, UNKNOWN, *_lost(type)) for type in ("stylesheet", "image")
    )
    assert (style, image) == (pytest.approx(7 / 15), pytest.approx(7 / 9))


def test_likeness_counts_half() -> None:
    compared = PageLikeness(Comparison(screenshot=0.2, text=1.0), structure=0.6)
    assert overall_score(RENDER, compared, [], []) == pytest.approx((2 + 0.4 + 1) / 4)
    assert overall_score(RENDER, PageLikeness(Comparison(text=0.1)), [], []) == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("kinds", "score"),
    [
        ([FaultKind.LEAK], 0.9),
        ([FaultKind.LEAK, FaultKind.LEAK], 0.9),
        ([FaultKind.LEAK, FaultKind.FAR], 0.81),
        ([FaultKind.TIMEOUT], 0.5),
        ([FaultKind.CRASH], 0),
        ([FaultKind.REDIRECT_LOOP], 0),
    ],
)
def test_faults_of_the_page_take_their_part(kinds: list[str], score: float) -> None:
    faults = [Fault(kind) for kind in kinds]
    assert overall_score(RENDER, UNKNOWN, faults, []) == pytest.approx(score)


def test_a_page_that_is_missing_itself_has_nothing() -> None:
    lost = PageRender(OVERALL_TASK, resources=(PlayedResource(OVERALL_TASK.url, 404),))
    assert overall_score(lost, UNKNOWN, [Fault(FaultKind.MISSING, OVERALL_TASK.url, 404)], []) == 0
    assert overall_score(RENDER, UNKNOWN, [Fault(FaultKind.FAILED, OVERALL_TASK.url)], []) == 0


@given(st.lists(st.sampled_from(list(FaultKind))), st.floats(0, 1), st.floats(0, 1))
def test_a_score_is_a_share(kinds: list[str], screenshot: float, text: float) -> None:
    faults = [Fault(kind, "http://a.example/x") for kind in kinds]
    likeness = PageLikeness(Comparison(screenshot, text), screenshot)
    assert 0 <= overall_score(RENDER, likeness, faults, []) <= 1
