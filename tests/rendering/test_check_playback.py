"""End-to-end checks of playback: an archive, the player, a real browser, the printed JSON."""

import gzip
from pathlib import Path

import pytest

from tests.cli.conftest import Ran, run_nwx
from tests.renders import page_information, render
from tests.warc_records import http_response, warc_bytes, write_records
from tests.web.chromium import find_browser

WHOLE, HOLED = "http://a.example/whole", "http://a.example/holed"
STYLE, LOGO, DEAD = (f"http://a.example/{name}" for name in ("s.css", "logo.png", "dead.png"))
DATE, TIMESTAMP = "2020-01-01T00:00:00Z", "20200101000000"


def _page(url: str, *images: str) -> bytes:
    shown = "".join(f'<img src="{image}" alt="">' for image in images)
    body = f'<html><head><link rel="stylesheet" href="{STYLE}"></head><body>{shown}A lamp</body>'
    return warc_bytes("response", http_response(body.encode()), id=url, url=url, date=DATE)


def _other(url: str, body: bytes, media_type: str, status: str = "200 OK") -> bytes:
    block = http_response(body, media_type).replace(b"200 OK", status.encode())
    return warc_bytes("response", block, id=url, url=url, date=DATE)


def _information(url: str, resources: dict[str, int]) -> bytes:
    block = page_information(url, {url: 200, **resources})
    return render(f"urn:pageinfo:{url}", block, "application/json", DATE)


@pytest.fixture(scope="module")
def checked(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A check of a complete page, and of one with a missing image."""
    folder = tmp_path_factory.mktemp("checked")
    records = [
        _page(WHOLE, DEAD),
        _page(HOLED, LOGO),
        _other(STYLE, b"body { color: blue }", "text/css"),
        _other(DEAD, b"gone", "text/plain", "404 Not Found"),
        _information(WHOLE, {STYLE: 200, DEAD: 404}),
        _information(HOLED, {STYLE: 200, LOGO: 200}),
        render(f"urn:text:{WHOLE}", b"A lamp", "text/plain", DATE),
    ]
    path = write_records(folder / "a.warc.gz", records)
    run_nwx(folder / "archive", "import", path, "--quiet")
    out = folder / "renders.warc.gz"
    check = ("check-playback", "--json", "--browser", find_browser(), "--jobs", 1)
    # pywb emits warnings.
    ran = run_nwx(
        folder / "archive", *check, "--out", out, "--comparison", PYTHONWARNINGS="default"
    )
    assert b"WARC/1." in _unpacked(out)
    return ran


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes())


def test_what_is_missing_is_found_and_nothing_else(checked: Ran) -> None:
    found = checked.json
    assert list(found) == ["pages", "checked", "faults", "scores"]
    assert (found["pages"], found["checked"]) == (2, 2)
    assert found["faults"] == [
        {
            "url": HOLED,
            "timestamp": TIMESTAMP,
            "kind": "missing",
            "resource": LOGO,
            "status": 404,
        }
    ]


def test_the_scores_compare_with_the_crawl(checked: Ran) -> None:
    scores = {score["url"]: score for score in checked.json["scores"]}
    assert scores[WHOLE]["text"] == 1
    assert scores[WHOLE]["screenshot"] is None
    counts = {"crawlGood": 2, "crawlBad": 1, "replayGood": 2, "replayBad": 1}
    assert scores[WHOLE]["resources"] == counts
    assert scores[HOLED]["resources"] == {**counts, "crawlGood": 3, "crawlBad": 0}
