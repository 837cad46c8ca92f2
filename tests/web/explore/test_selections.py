"""From counts in the explorer to captures, documents and searches."""

from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web.explore.views import CAPTURES, links_of, sound_page, status_of
from tests.web.html import Page

pytestmark = pytest.mark.xdist_group("explore")


def test_a_cell_leads_to_its_captures(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?by=status,type")
    count = sum(one.status_code == 500 and one.content_type_norm == "pdf" for one in CAPTURES)
    leading = [
        link
        for link in page.all("a")
        if parse_qs(urlsplit(link.attributes["href"]).query).get("where")
        == ["status=server_error", "type=pdf"]
    ]
    (link,) = leading
    assert urlsplit(link.attributes["href"]).path == "/explore/captures"
    assert link.text == str(count)
    found = sound_page(client, link.attributes["href"])
    assert status_of(found).startswith(f"{count} capture")
    assert len(found.all("tr")) == count + 1


def test_captures_come_in_pages(client: FlaskClient) -> None:
    page = sound_page(client, "/explore/captures?where=type%3Dhtml")
    total = sum(one.content_type_norm == "html" for one in CAPTURES)
    assert status_of(page) == f"{total} captures · page 1 of {-(-total // 50)}"
    seen = [cell.text for cell in page.all("td", class_="url-cell")[1::2]]
    following = page.all("a", rel="next")
    while following:
        page = sound_page(client, following[0].attributes["href"])
        seen += [cell.text for cell in page.all("td", class_="url-cell")[1::2]]
        following = page.all("a", rel="next")
    assert len(seen) == len(set(seen)) == total
    assert "There is no page 100" in sound_page(client, "/explore/captures?page=100").source


def test_a_capture_leads_to_playback_and_its_document(client: FlaskClient) -> None:
    page = sound_page(client, "/explore/captures?where=tld%3Dexample&where=month%3D2014-01")
    targets = [link.attributes["href"] for link in page.all("a")]
    assert any(target.startswith("/replay/20140101000000/") for target in targets)
    (document,) = [link for link in targets if "evil" in link and link.startswith("/documents/of")]
    assert client.get(document).status_code == 302


@pytest.mark.parametrize(
    ("where", "search"),
    [
        (["type=pdf", "collection=news"], {"q": [""], "type": ["pdf"], "collection": ["news"]}),
        (["month=2013-01..2013-12"], {"q": ["date:2013-01..2013-12"]}),
        (["status=request_error"], {"q": ["status:[400 TO 499]"]}),
        (["size=1.2K-15K"], {"q": ["size:[1229 TO 15359]"]}),
        (["size=15M-120M..120M+"], {"q": ["size:[15728640 TO *]"]}),
        (["site=site1.example", "site!=site2.fr"], {"domain": ["site1.example"]}),
        (["tld=uk"], {"q": ['(tld:"uk" OR tld:*.uk)']}),
        (["type!=html,pdf"], {"q": ['NOT (type:"html" OR type:"pdf")']}),
    ],
)
def test_a_search_within_a_selection(
    client: FlaskClient, where: list[str], search: dict[str, list[str]]
) -> None:
    answer = client.get("/explore", query_string={"where": where})
    (address,) = links_of(Page(answer.text), "Search within")
    asked = parse_qs(urlsplit(address).query, keep_blank_values=True)
    assert {name: asked[name] for name in search} == search
    assert client.get(address).status_code == 200


@pytest.mark.parametrize(
    "where",
    [
        "type=pdf",
        "type!=pdf",
        "status=ok",
        "status=request_error",
        "site=example.org",
        "site=example.com,example.net",
        "tld=com",
        "tld!=com,example",
        "month=2014-03",
        "month=2009..2010",
        "month=..2006",
        "size=0-1.2K",
        "size=1.2K-15K..",
        "collection=blogs",
        "collection!=blogs",
    ],
)
def test_the_search_finds_the_documents_of_the_captures(app: Flask, where: str) -> None:
    client = app.test_client()
    asked = {"where": where, "limit": 1000}
    behind = client.get("/api/facets/captures", query_string=asked).get_json()["captures"]
    (address,) = links_of(
        Page(client.get("/explore", query_string={"where": where}).text), "Search within"
    )
    query = urlsplit(address).query
    found = client.get(f"/export/results.json?{query}&collapse=none").get_json()
    assert found
    whole = client.get("/export/results.json?collapse=none").get_json()
    known = {one["id"] for one in whole}
    assert {one["id"] for one in found} == {one["document_id"] for one in behind} & known


def test_what_is_too_long_for_a_search_is_left_out(client: FlaskClient) -> None:
    sites = ",".join(f"site{number}.example" for number in range(200))
    page = sound_page(client, f"/explore?where=site%3D{sites}&where=type%3Dhtml")
    assert "cannot filter by site" in page.source
    (address,) = links_of(page, "Search within")
    assert client.get(address).status_code == 200
    years = ",".join(map(str, range(1990, 2026)))
    (address,) = links_of(sound_page(client, f"/explore?where=month%3D{years}"), "Search within")
    assert parse_qs(urlsplit(address).query)["q"][0].count("date:") == 36


@pytest.mark.parametrize("where", ["depth=1", "type=unknown", "status=ignored", "size=unknown"])
def test_where_the_search_has_no_filter_it_is_told(client: FlaskClient, where: str) -> None:
    page = sound_page(client, f"/explore?where={where.replace('=', '%3D')}&by=month")
    assert f"cannot filter by {where.partition('=')[0]}" in page.source
