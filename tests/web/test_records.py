"""From results to a document and back, its records, citations, and steps between captures."""

import re
from html import unescape

from flask.testing import FlaskClient

from nwx.answers.citations import cite
from tests.web.addresses import FIRST
from tests.web.archive import HOME

TIME = "20100101000000"


def test_the_query_is_carried_to_the_document_and_back(client: FlaskClient) -> None:
    results = client.get("/search?q=quarry&year=2010").text
    found = re.search(r'href="(/documents/[0-9a-f]{32}\?results=[^"#]+)"', results)
    assert found
    page = client.get(unescape(found[1])).text
    assert "<mark>" in page.lower()
    assert 'href="/search?q=quarry&amp;year=2010"' in page
    hostile = client.get(f"/documents/{FIRST}", query_string={"results": 'q="><script>x'}).text
    assert "<script>x" not in hostile


def test_a_document_can_be_cited(client: FlaskClient) -> None:
    page = client.get(f"/documents/{FIRST}").text
    assert "urn:pwid:" in page
    assert "@misc{" in page


def test_a_citation_takes_hostile_texts() -> None:
    found = cite("http://a.test/{b}", "20100102030405", "50% & {more}\n~x", "A", "http://a.org", "")
    assert found is not None
    assert found.pwid == "urn:pwid:a.org:2010-01-02T03:04:05Z:page:http://a.test/{b}"
    assert r"title = {50\% \& \{more\} \textasciitilde{}x}," in found.bibtex
    assert "url = {http://a.test/%7Bb%7D}" in found.bibtex
    assert found.bibtex.startswith("@misc{a-org-20100102030405,")
    assert cite("http://a.test/", "20109999", "", "A", "http://a.org", "") is None


def test_unknown_records_are_not_found(client: FlaskClient) -> None:
    assert client.get(f"/documents/{FIRST}/records/{TIME}/{'0' * 32}").status_code == 404
    for time in ("20109999999999", "2010abcdefghij"):
        assert client.get(f"/documents/{FIRST}/records/{time}/{'0' * 32}").status_code == 404
    assert client.get(f"/documents/{'0' * 32}/records/{TIME}/{'0' * 32}/payload").status_code == 404


def test_records_that_cannot_be_read_are_not_found(client: FlaskClient) -> None:
    page = client.get(f"/documents/{FIRST}").text
    found = re.search(rf'href="(/documents/{FIRST}/records/[0-9]{{14}}/[0-9a-f]{{32}})"', page)
    assert found
    for address in (found[1], f"{found[1]}/payload"):
        answer = client.get(address)
        assert (answer.status_code, "cannot be read here" in answer.text) == (404, True)


def test_a_url_leads_to_its_calendar(client: FlaskClient) -> None:
    page = client.get("/search", query_string={"q": HOME}).text
    assert "This URL was captured" in page
    bare = HOME.removeprefix("http://").rstrip("/")
    assert "This URL was captured" in client.get("/search", query_string={"q": bare}).text
    assert "This URL was captured" not in client.get("/search?q=http://nowhere.test/").text
    assert client.get("/search?q=http://[::1").status_code in (200, 400)


def test_steps_between_captures(client: FlaskClient) -> None:
    def go(timestamp: str, to: str) -> tuple[int, str]:
        asked = {"url": HOME, "timestamp": timestamp, "to": to}
        answer = client.get("/replay-step", query_string=asked)
        return answer.status_code, answer.location or ""

    status, first = go("1990", "next")
    assert (status, first.endswith(HOME)) == (302, True)
    timestamp = first.split("/replay/")[1][:14]
    assert go(timestamp, "previous")[0] == 404
    following = go(timestamp, "next")
    assert following[0] in (302, 404)
    if following[0] == 302:
        assert go(following[1].split("/replay/")[1][:14], "previous")[1] == first
    assert go("99991231235959", "next")[0] == 404
    assert go("99999999999999", "next")[0] == 404
    assert go("x", "next")[0] == 400
    assert go("20²", "next")[0] == 400
    assert go("2010", "sideways")[0] == 400
