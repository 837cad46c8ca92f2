import json
from pathlib import Path

import pytest

from nwx.engine.indices.crawl_queue import QueuedUrl, UrlState
from nwx.errors import UsageError
from nwx.steering.adapters.heritrix_job import (
    HeritrixJob,
    ScheduleLine,
    SeedForm,
    best_waiting,
    blacklisted,
    seed_file,
)


@pytest.fixture
def job(tmp_path: Path) -> HeritrixJob:
    (tmp_path / "crawler-beans.cxml").touch()
    return HeritrixJob(tmp_path)


def test_urls_are_scheduled_in_files_that_are_whole(job: HeritrixJob) -> None:
    lines = [
        ScheduleLine("http://a.example/1", "LL", "http://a.example/"),
        ScheduleLine("http://a.example/a b\nF+ http://evil.example/", "", ""),
        ScheduleLine("http://a.example/2", "L", "http://a.example/", again=True),
    ]
    job.schedule(lines, 7)
    actions = job.folder / "action"
    assert (actions / "nwx-000000000007.schedule").read_text() == (
        "F+ http://a.example/1 LL http://a.example/\n"
        "F+ http://a.example/a%20b%0AF+%20http://evil.example/ L"
        " http://a.example/a%20b%0AF+%20http://evil.example/\n"
    )
    assert (actions / "nwx-000000000007.force").read_text() == (
        "F+ http://a.example/2 L http://a.example/\n"
    )
    assert sorted(path.name for path in job.folder.iterdir()) == ["action", "crawler-beans.cxml"]


def test_a_page_before_that_is_no_url_is_left_out(job: HeritrixJob) -> None:
    job.schedule([ScheduleLine("http://a.example/1", "L", " \n")], 1)
    written = (job.folder / "action" / "nwx-000000000001.schedule").read_text()
    assert written == "F+ http://a.example/1 L http://a.example/1\n"


def test_a_file_was_given_when_it_waits_or_was_read_by_that_launch(job: HeritrixJob) -> None:
    job.schedule([ScheduleLine("http://a.example/1", "L", "")], 3)
    assert job.was_given(3, "first")
    assert not job.was_given(4, "first")
    done = job.folder / "first" / "actions-done"
    done.mkdir(parents=True)
    (job.folder / "action" / "nwx-000000000003.schedule").rename(
        done / "20260101000000000.nwx-000000000003.schedule"
    )
    assert job.was_given(3, "first")
    assert not job.was_given(3, "second")


def test_the_last_launch_is_that_of_the_link(job: HeritrixJob) -> None:
    assert job.launch == ""
    (job.folder / "20260101000000").mkdir()
    (job.folder / "latest").symlink_to("20260101000000")
    assert job.launch == "20260101000000"


def test_a_folder_without_configuration_is_no_job(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"crawler-beans\.cxml"):
        HeritrixJob(tmp_path)


def test_files_that_a_launch_left_open_are_closed(job: HeritrixJob) -> None:
    warcs = job.folder / "first" / "warcs"
    warcs.mkdir(parents=True)
    names = ["a.warc.gz.open", "b.warc.open", "b.warc", "c.log.open", "d.warc.gz"]
    for name in names:
        (warcs / name).write_text(name)
    job.close_abandoned("first")
    found = {path.name: path.read_text() for path in warcs.iterdir()}
    assert found == {name: name for name in names[1:]} | {"a.warc.gz": "a.warc.gz.open"}


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
