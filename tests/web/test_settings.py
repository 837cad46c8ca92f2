"""Settings: stored in a cookie, overridden by query parameters."""

import pytest
from flask.testing import FlaskClient

from nwx.model import Collapse
from tests.web.html import Page
from webapp.site.preferences import Preferences, Theme, from_cookie, to_cookie


def _save(client: FlaskClient, **values: str) -> None:
    answer = client.post("/settings", data=values)
    assert answer.status_code == 302
    assert "saved" in answer.location


def test_settings_are_kept(client: FlaskClient) -> None:
    _save(client, per_page="20", collapse="none", theme="dark", new_tab="yes")
    page = Page(client.get("/search?q=quarry").text)
    assert len(page.all("li", class_="hit")) == 20
    assert page.all("html")[0].attributes["data-theme"] == "dark"
    assert page.all("a", class_="play")[0].attributes["target"] == "_blank"
    chosen = {
        (item.attributes["name"], item.attributes["value"])
        for item in Page(client.get("/settings").text).all("input")
        if "checked" in item.attributes
    }
    assert chosen == {
        ("per_page", "20"),
        ("collapse", "none"),
        ("theme", "dark"),
        ("new_tab", "yes"),
    }


def test_the_address_goes_before_the_cookie(client: FlaskClient) -> None:
    _save(client, per_page="20", collapse="none")
    page = Page(client.get("/search?q=quarry&per_page=10&collapse=url").text)
    assert len(page.all("li", class_="hit")) == 10
    (following,) = page.all("a", rel="next")
    assert following.attributes["href"] == "/search?q=quarry&collapse=url&per_page=10&page=2"


def test_the_cookie_is_out_of_reach_of_scripts(client: FlaskClient) -> None:
    cookie = client.post("/settings", data={"theme": "dark"}).headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie


def test_other_sites_cannot_change_settings(client: FlaskClient) -> None:
    answer = client.post("/settings", data={}, headers={"Sec-Fetch-Site": "cross-site"})
    assert answer.status_code == 403
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize("cookie", ["", "per_page=7&theme=<b>", "%00%ff", "a" * 9_000, "per_page"])
def test_a_broken_cookie_is_none(client: FlaskClient, cookie: str) -> None:
    assert from_cookie(cookie) == Preferences()
    client.set_cookie("nwx_settings", cookie[:3_000])
    assert client.get("/search?q=quarry").status_code == 200


def test_a_cookie_holds_what_was_put_in() -> None:
    preferences = Preferences(50, Collapse.SIMILAR, Theme.LIGHT, new_tab=True)
    assert from_cookie(to_cookie(preferences)) == preferences
