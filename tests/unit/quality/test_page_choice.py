"""Pages to render: in a list, found by a query, and the remaining ones."""

import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from nwx.quality.browser.targets import RenderTask
from nwx.quality.page_choice import RemainingPages, UrlList, document_pages
from nwx.quality.stored_renders import RenderedPage
from nwx.query.question import Question

LIST = b"""\xef\xbb\xbfhttp://a.example/
# a comment

20200101000000 https://b.example/with blank
ftp://c.example/
123456789012345 http://d.example/
javascript:alert(1)
2021 http://a.example/
"""


def test_a_line_is_a_url_or_a_timestamp_and_a_url() -> None:
    pages = UrlList(io.BytesIO(LIST), "list.txt")
    assert list(pages) == [
        RenderTask("http://a.example/", ""),
        RenderTask("https://b.example/with%20blank", "20200101000000"),
        RenderTask("http://a.example/", "2021"),
    ]
    assert pages.wrong == 3
    assert pages.problems[0] == "list.txt:5: 'ftp://c.example/' is not the URL of a page"


def test_overlong_and_many_wrong_lines_are_bounded() -> None:
    pages = UrlList(io.BytesIO(b"x" * 300_000 + b"\n" + b"no\n" * 100), "list.txt")
    assert list(pages) == []
    assert pages.wrong > 100 and len(pages.problems) == 20


def test_pages_that_are_done_are_skipped_and_others_come_once() -> None:
    done = {RenderedPage("http://a.example/", "20200101000000")}
    tasks = [
        RenderTask("http://a.example/", ""),
        RenderTask("http://a.example/", "20200101000000"),
        RenderTask("http://a.example/", "20210101000000"),
        RenderTask("http://b.example/", ""),
        RenderTask("http://b.example/", ""),
        RenderTask("http://c.example/", ""),
    ]
    remaining = RemainingPages(tasks, done, 2)
    assert list(remaining) == [tasks[2], tasks[3]]
    assert remaining.skipped == 2


def test_documents_are_read_before_the_first_is_rendered() -> None:
    read = []

    def scroll(_: Question) -> Iterator[Any]:
        for url, *dates in (
            ("http://a.example/\u00e9", "20200101000000", "20210101000000"),
            ("http://undated.example/",),
            ("urn:view:http://a.example/", "20200101000000"),
            ("https://b.example/", "20220101000000"),
        ):
            read.append(url)
            yield SimpleNamespace(url=url, dates=tuple(dates))

    pages = document_pages(SimpleNamespace(scroll=scroll), Question())  # type: ignore[arg-type]
    assert next(pages) == RenderTask("http://a.example/\u00e9", "20200101000000")
    assert len(read) == 4
    assert list(pages) == [RenderTask("https://b.example/", "20220101000000")]
