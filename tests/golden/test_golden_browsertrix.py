"""Comparisons of a page and its playback give the same numbers as Browsertrix.

`browsertrix/numbers.json` has the results of pixelmatch, pngjs and js-levenshtein for the pairs,
called as in Browsertrix Crawler (replaycrawler.ts).
"""

import json

import pytest

from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask
from nwx.quality.measures import page_likeness, screenshot_match, text_match
from nwx.quality.page_information import PageInfo, PageResource
from tests.golden.browsertrix.numbers import NUMBERS, pixel_digest
from tests.golden.browsertrix.pairs import RESOURCES, TEXTS, pictures, png

EXPECTED = json.loads(NUMBERS.read_text(encoding="utf-8"))
PICTURES = pictures()


def test_all_pairs_have_numbers() -> None:
    for kind, pairs in (("pictures", PICTURES), ("texts", TEXTS), ("resources", RESOURCES)):
        assert list(EXPECTED[kind]) == list(pairs), "make numbers.json again"


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_those_that_were_measured(name: str) -> None:
    assert pixel_digest(PICTURES[name]) == EXPECTED["pictures"][name]["pixels"]


@pytest.mark.parametrize("name", PICTURES)
def test_the_match_of_screenshots_is_the_same(name: str) -> None:
    crawl, played = map(png, PICTURES[name])
    expected = EXPECTED["pictures"][name]["screenshotMatch"]
    found = screenshot_match(crawl, played).match
    # Browser screenshots are opaque; otherwise colours are blended in integers here.
    is_opaque = all((each[..., 3] == 255).all() for each in PICTURES[name])
    assert found == pytest.approx(expected, abs=1e-12 if is_opaque else 1e-3)


@pytest.mark.parametrize("name", TEXTS)
def test_the_match_of_texts_is_the_same(name: str) -> None:
    assert text_match(*TEXTS[name]) == pytest.approx(EXPECTED["texts"][name]["textMatch"])


@pytest.mark.parametrize("name", RESOURCES)
def test_the_counts_of_resources_are_the_same(name: str) -> None:
    crawl, played = RESOURCES[name]
    info = PageInfo("", "", tuple(PageResource(*one, "", "") for one in crawl.items()))
    resources = tuple(PlayedResource(*one) for one in played.items())
    render = PageRender(RenderTask("http://a.example/", "20200101000000"), resources=resources)
    found = page_likeness(render, b"", None, info).comparison
    expected = EXPECTED["resources"][name]
    assert {
        "crawlGood": found.crawl_good,
        "crawlBad": found.crawl_bad,
        "replayGood": found.replay_good,
        "replayBad": found.replay_bad,
    } == expected["resourceCounts"]
    assert found.screenshot == expected.get("screenshotMatch")
    assert found.text == expected.get("textMatch")
