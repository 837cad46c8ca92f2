"""Suggestions, corrected queries, and searches saved in the browser."""

import json
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Page, expect

from nwx.errors import EngineBusyError


def test_titles_and_hosts_are_suggested(client: FlaskClient) -> None:
    found = client.get("/api/suggest?q=quarr").json
    assert found is not None
    assert any("uarr" in one["title"] for one in found["titles"])
    hosts = client.get("/api/suggest?q=exam").json
    assert hosts is not None
    assert "www.example.org" in [one["host"] for one in hosts["hosts"]]
    assert client.get("/api/suggest?q=").json == {"titles": [], "hosts": []}
    assert client.get("/api/suggest?nothing=1").status_code == 400


def test_what_was_meant_is_offered(client: FlaskClient) -> None:
    assert 'Did you mean <a href="/search?q=quarry"' in client.get("/search?q=quarri").text
    assert "Did you mean" not in client.get("/search?q=quarry").text


def test_results_are_shown_where_there_is_no_time_for_hints(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> str:
        raise EngineBusyError("too many questions")

    monkeypatch.setattr("nwx.searching.suggestions.corrected_query", busy)
    shown = client.get("/search?q=quarri")
    assert shown.status_code == 200
    assert "Nothing matches" in shown.text


@pytest.mark.xdist_group("browser")
def test_searches_are_kept_in_the_browser(page: Page, server: str, tmp_path: Path) -> None:
    page.goto(f"{server}/search?q=quarry")
    page.get_by_role("button", name="Save this search").press("Enter")
    expect(page.get_by_role("button", name="Saved")).to_be_focused()
    page.goto(f"{server}/search?q=museum&year=2010")
    page.goto(f"{server}/searches")
    saved = page.locator('[data-list="saved"] a')
    expect(saved).to_have_text(["quarry"])
    expect(page.locator('[data-list="history"] a')).to_have_text(["museum", "quarry"])
    with page.expect_download() as download:
        page.get_by_role("button", name="Export as a file").click()
    file = tmp_path / "searches.json"
    download.value.save_as(file)
    page.get_by_role("button", name="Remove: quarry").first.press("Enter")
    expect(saved).to_have_count(0)
    expect(page.locator('[data-empty="saved"]')).to_be_focused()
    page.get_by_role("button", name="Remove: museum").press("Enter")
    expect(page.get_by_role("button", name="Remove: quarry")).to_be_focused()
    page.get_by_role("button", name="Clear the history").click()
    expect(page.locator('[data-list="history"] a')).to_have_count(0)
    addresses = "javascript:alert(1)//search?", "//evil.test/search?", "/\\evil.test/search?"
    bad = [{"title": "bad", "address": one, "time": 0} for one in addresses]
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "saved": [*kept["saved"], *bad]}))
    page.get_by_label("Import a file").set_input_files(file)
    expect(saved).to_have_text(["quarry"])
    saved.first.click()
    expect(page.locator("#q")).to_have_value("quarry")
    page.locator("#q").fill("")
    page.locator("#q").press_sequentially("exam")
    expect(page.locator("#suggestions option").first).to_be_attached()
