import json

import pytest

from nwx.engine.queue.crawl_queue import QueuedUrl, UrlState
from nwx.steering.adapters.seed_files import SeedForm, best_waiting, blacklisted, seed_file

ODD = 'http://b.example/a b"\n- url: x'
QUEUE = [
    QueuedUrl("http://a.example/low", "a.example", 0.2),
    QueuedUrl("http://a.example/high", "a.example", 0.9, via="http://a.example/"),
    QueuedUrl("http://a.example/done", "a.example", 1.0, state=UrlState.DONE),
    QueuedUrl("http://a.example/never", "a.example", None, state=UrlState.BLACKLISTED),
    QueuedUrl(ODD, "b.example", 0.9),
]


def test_the_best_of_those_that_wait_come_first_and_older_before_newer() -> None:
    urls = [each.url for each in best_waiting(QUEUE, 10)]
    assert urls == ["http://a.example/high", ODD, "http://a.example/low"]
    assert [each.url for each in best_waiting(QUEUE, 1)] == urls[:1]
    assert [each.url for each in best_waiting(QUEUE, 10, 0.5)] == urls[:2]
    assert [each.url for each in blacklisted(QUEUE)] == ["http://a.example/never"]


@pytest.mark.parametrize(
    ("form", "lines"),
    [
        (
            SeedForm.URLS,
            ["http://a.example/high", 'http://b.example/a%20b"%0A-%20url:%20x'],
        ),
        (
            SeedForm.BROWSERTRIX,
            [
                'collection: "floods"',
                "scopeType: page",
                "seeds:",
                '  - url: "http://a.example/high"',
                f"  - url: {json.dumps(ODD.replace(' ', '%20').replace(chr(10), '%0A'))}",
            ],
        ),
        (
            SeedForm.BROZZLER,
            [
                'id: "floods"',
                "scope:",
                "  max_hops: 0",
                "seeds:",
                '  - url: "http://a.example/high"',
                f"  - url: {json.dumps(ODD.replace(' ', '%20').replace(chr(10), '%0A'))}",
            ],
        ),
        (
            SeedForm.HERITRIX_SCHEDULE,
            [
                "F+ http://a.example/high L http://a.example/",
                'F+ http://b.example/a%20b"%0A-%20url:%20x L'
                ' http://b.example/a%20b"%0A-%20url:%20x',
            ],
        ),
        (
            SeedForm.HERITRIX_INCLUDE,
            ["F+ http://a.example/high", 'F+ http://b.example/a%20b"%0A-%20url:%20x'],
        ),
    ],
)
def test_each_crawler_gets_its_form(form: SeedForm, lines: list[str]) -> None:
    assert list(seed_file([QUEUE[1], QUEUE[4]], form, "floods")) == lines


def test_what_is_no_url_is_left_out() -> None:
    assert list(seed_file([QueuedUrl(" ", "", 1.0)], SeedForm.URLS, "")) == []
