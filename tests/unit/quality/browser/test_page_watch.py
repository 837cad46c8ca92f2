"""The actions of a page, derived from the browser's events."""

from types import SimpleNamespace
from typing import Any

from nwx.quality.browser.gateway import Traffic
from nwx.quality.browser.page_watch import PageWatch
from nwx.quality.browser.targets import ArchivePlayback

PREFIX = "http://127.0.0.1:8081/replay"
URL = "http://a.example/i.png"


class Page:
    """A page whose events are sent by a test."""

    def __init__(self, watch: PageWatch) -> None:
        self._handlers: dict[str, Any] = {}
        watch.follow(self)  # type: ignore[arg-type]

    def on(self, name: str, handler: Any) -> None:
        """Register a listener."""
        self._handlers[name] = handler

    def ask(self) -> SimpleNamespace:
        """Request URL."""
        request = SimpleNamespace(
            url=f"{PREFIX}/20200101000000im_/{URL}",
            resource_type="image",
            failure="net::ERR_EMPTY_RESPONSE",
            is_navigation_request=lambda: False,
        )
        self._handlers["request"](request)
        return request

    def fail(self, request: SimpleNamespace) -> None:
        """Fail a request without a response."""
        self._handlers["requestfailed"](request)

    def answer(self, status: int, **headers: str) -> None:
        """Request URL and respond."""
        request = self.ask()
        self._handlers["response"](SimpleNamespace(request=request, status=status, headers=headers))


def test_the_last_answer_counts() -> None:
    watch = PageWatch(ArchivePlayback(PREFIX), Traffic(1_000, 10))
    page = Page(watch)
    page.answer(200)
    page.answer(404)
    assert [(one.url, one.status) for one in watch.resources] == [(URL, 404)]


def test_what_the_proxy_refuses_says_nothing_about_the_archive() -> None:
    watch = PageWatch(ArchivePlayback(PREFIX), Traffic(1_000, 10))
    page = Page(watch)
    page.answer(200)
    page.answer(403, **{"proxy-status": "nwx; error=connection_refused"})
    assert [(one.url, one.status) for one in watch.resources] == [(URL, 200)]


def test_what_is_cut_off_at_the_end_is_not_taken_for_missing() -> None:
    watch = PageWatch(ArchivePlayback(PREFIX), Traffic(1_000, 10))
    page = Page(watch)
    late = page.ask()
    watch.end()
    page.fail(late)
    assert watch.resources == ()


def test_what_nothing_comes_for_is_kept() -> None:
    watch = PageWatch(ArchivePlayback(PREFIX), Traffic(1_000, 10))
    page = Page(watch)
    page.fail(page.ask())
    assert [(one.url, one.status) for one in watch.resources] == [(URL, 0)]
