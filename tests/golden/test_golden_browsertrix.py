"""Comparisons of a page and its playback give the numbers that Browsertrix gives.

`browsertrix/numbers.json` holds what pixelmatch, pngjs and js-levenshtein made
of the pairs, called as Browsertrix Crawler calls them (replaycrawler.ts).
"""

import json

import pytest

from tests.golden.browsertrix.numbers import NUMBERS, pixel_digest
from tests.golden.browsertrix.pairs import RESOURCES, TEXTS, pictures

EXPECTED = json.loads(NUMBERS.read_text(encoding="utf-8"))
PICTURES = pictures()


def test_all_pairs_have_numbers() -> None:
    for kind, pairs in (("pictures", PICTURES), ("texts", TEXTS), ("resources", RESOURCES)):
        assert list(EXPECTED[kind]) == list(pairs), "make numbers.json again"


@pytest.mark.parametrize("name", PICTURES)
def test_pictures_are_those_that_were_measured(name: str) -> None:
    assert pixel_digest(PICTURES[name]) == EXPECTED["pictures"][name]["pixels"]
