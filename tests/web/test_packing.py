"""The page that packs the records of results and shows the progress."""

import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Page, expect

from nwx import Archive
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.errors import SourceError
from tests.web.axe import check_modes, load_axe
from webapp.search import exports
from webapp.search.exports import PackedFile

PAGE = "/export/packing.wacz?q=quarry"
_SOON = 10.0


@dataclass
class Packing:
    """A fake packing that waits for permission to end, and then fails or succeeds."""

    shown: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)
    failure: str = ""
    packed: int = 0

    def pack(self, selection: object, out: Path, form: str, show: ShowProgress) -> object:
        """Write a file once it may end."""
        del selection, form
        self.packed += 1
        show(WorkProgress("records", 1_500, 6_000))
        self.shown.set()
        assert self.may_end.wait(_SOON)
        if self.failure:
            raise SourceError(self.failure)
        out.write_bytes(b"packed")
        return None


@pytest.fixture
def packing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Packing]:
    """A fake packing in place of the real one, and a separate cache folder."""
    monkeypatch.setenv("NWX_CACHE", str(tmp_path))
    found = Packing()
    monkeypatch.setattr(exports, "PACKED_FORMATS", {"wacz": "application/wacz"})
    monkeypatch.setattr(Archive, "pack", found.pack)
    yield found
    found.may_end.set()
    _ended()


def _ended() -> None:
    for thread in threading.enumerate():
        if thread.name == "packing":
            thread.join(_SOON)


def _begun(client: FlaskClient, packing: Packing) -> str:
    assert client.get(PAGE).status_code == 200
    assert packing.shown.wait(_SOON)
    return client.get(PAGE).text


def test_a_page_shows_how_far_a_file_is_and_leads_to_it(
    client: FlaskClient, packing: Packing
) -> None:
    text = _begun(client, packing)
    assert 'max="6000" value="1500"' in text
    assert "Copying records: 1,500 of 6,000" in text
    assert re.search(r'<noscript><meta http-equiv="refresh" content="2; url=/export/packing', text)
    packing.may_end.set()
    _ended()
    text = client.get(PAGE).text
    assert 'href="/export/results.wacz?q=quarry"' in text
    assert re.search(r'content="0; url=/export/results.wacz\?q=quarry"', text)
    with client.get("/export/results.wacz?q=quarry") as answer:
        assert answer.data == b"packed"
    assert packing.packed == 1


def test_why_a_file_cannot_be_made_is_told_and_it_is_tried_again_at_wish(
    client: FlaskClient, packing: Packing
) -> None:
    packing.failure = "no <file> was there"
    packing.may_end.set()
    _begun(client, packing)
    _ended()
    text = client.get(PAGE).text
    assert "no &lt;file&gt; was there" in text
    assert 'http-equiv="refresh"' not in text
    assert packing.packed == 1
    packing.failure = ""
    client.get(f"{PAGE}&again=1")
    _ended()
    assert "The file is ready" in client.get(PAGE).text


def test_an_unexpected_end_is_told_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "excepthook", lambda told: None)
    file = PackedFile(tmp_path, "key", "mark", "wacz")

    class Room:
        def end(self) -> None:
            pass

    def fail(path: Path, show: ShowProgress) -> object:
        del path, show
        raise ZeroDivisionError

    file.start(fail, Room)
    _ended()
    assert "the log of the service" in str(file.state().failure)


def test_nothing_is_packed_for_too_many_results_or_as_something_else(
    client: FlaskClient, packing: Packing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "MOST_DOCUMENTS", 10)
    assert client.get(PAGE).status_code == 400
    assert client.get("/export/packing.csv?q=quarry").status_code == 404
    assert packing.packed == 0


def test_a_file_of_a_moment_ago_is_given_though_the_archive_has_grown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(content: bytes) -> Callable[[Path, ShowProgress], object]:
        return lambda path, show: path.write_bytes(content)

    before, after = (PackedFile(tmp_path, "key", mark, "wacz") for mark in ("a", "b"))
    assert before.made(write(b"old")).read_bytes() == b"old"
    assert after.made(write(b"new")).read_bytes() == b"old"
    monkeypatch.setattr(exports, "SAME_SECONDS", 0)
    assert after.made(write(b"new")).read_bytes() == b"new"
    assert PackedFile(tmp_path, "other", "a", "wacz").there() is None


@pytest.mark.xdist_group("browser")
def test_a_browser_follows_the_packing_and_downloads_the_file(
    page: Page, server: str, packing: Packing
) -> None:
    load_axe(page.context)
    page.goto(f"{server}/search?q=quarry")
    page.get_by_role("link", name="WACZ").click()
    bar = page.get_by_role("progressbar")
    expect(bar).to_have_attribute("value", "1500", timeout=_SOON * 1_000)
    check_modes(page)
    with page.expect_download() as download:
        packing.may_end.set()
    assert download.value.suggested_filename == "results.wacz"
    expect(page.get_by_role("link", name="Download results.wacz")).to_be_focused()
