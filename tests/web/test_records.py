"""From results to a document and back; records, citations, and steps between captures."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.answers.citations import cite
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Batch
from nwx.query.question import Question
from nwx.values.timestamps import parse_timestamp
from tests.conformance.archive import page as document_page
from tests.web.addresses import FIRST
from tests.web.archive import HOME, HOME_TEXTS, HOME_TIMES
from webapp import create_app

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


def test_the_citation_of_an_answer_to_a_post_has_no_files(tmp_path: Path) -> None:
    found = document_page("http://a.test/post", content="said with a form")
    key = f"{found.capture.urlkey}?__wb_method=post&a=1"
    posted = replace(found, capture=replace(found.capture, urlkey=key))
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        engine.write(Batch(documents=(posted,), captures=(posted.capture,)))
        engine.refresh()
        (hit,) = engine.search(Question(query="form")).hits
        shown = create_app(engine).test_client().get(f"/documents/{hit.id}")
    assert "said with a form" in shown.text
    assert "@misc{" in shown.text
    assert "/cite?" not in shown.text


def test_a_citation_takes_hostile_texts() -> None:
    found = cite("http://a.test/{b}", "20100102030405", "50% & {more}\n~x", "A", "http://a.org", "")
    assert found is not None
    assert found.pwid == "urn:pwid:a.org:2010-01-02T03:04:05Z:page:http://a.test/{b}"
    assert r"title = {50\% \& \{more\} \textasciitilde{}x}," in found.bibtex
    assert "url = {http://a.test/%7Bb%7D}" in found.bibtex
    assert found.bibtex.startswith("@misc{a-org-20100102030405,")
    assert cite("http://a.test/", "20109999", "", "A", "http://a.org", "") is None


def test_citations_are_files_of_reference_managers(client: FlaskClient) -> None:
    asked = {"url": HOME, "at": HOME_TIMES[0][0]}

    def given(form: str) -> str:
        return client.get("/cite", query_string={**asked, "format": form}).text

    page = client.get("/cite", query_string=asked).text
    pwid, moment = given("pwid").strip(), parse_timestamp(HOME_TIMES[0][0])
    assert pwid.startswith("urn:pwid:") and pwid.endswith(f":page:{HOME}") and pwid in page
    ris = [line.split("  - ", 1) for line in given("ris").splitlines()]
    assert (ris[0], ris[-1]) == (["TY", "ELEC"], ["ER", ""])
    fields = dict(ris)
    assert (fields["PY"], fields["AN"]) == (str(moment.year), pwid)
    assert fields["DA"] == f"{moment:%Y/%m/%d}/" and HOME in fields["N1"]
    (item,) = json.loads(given("csl-json"))
    assert (item["type"], item["title"]) == ("webpage", fields["TI"])
    assert item["issued"] == {"date-parts": [[moment.year, moment.month, moment.day]]}
    assert item["archive_location"] == pwid and item["URL"] == fields["UR"]
    assert client.get("/cite", query_string={**asked, "format": "word"}).status_code == 400
    assert client.get("/cite", query_string={"url": "http://never.test/"}).status_code == 404


def test_a_ris_record_keeps_its_lines() -> None:
    found = cite("http://a.test/", "20100102030405", "x\nER  - \nTY  - JOUR", "A", "", "")
    assert found is not None
    assert [line[:2] for line in found.ris.splitlines()].count("ER") == 1
    assert json.loads(found.csl_json)[0]["title"] == found.title


def test_a_document_leads_to_the_dates_of_its_sentences(client: FlaskClient) -> None:
    sentence = HOME_TEXTS[0]
    form = client.get(f"/documents/{FIRST}").text.partition('action="/quote"')[2]
    assert f'name="url" value="{HOME}"' in form.partition("</form>")[0]
    found = client.get("/quote", query_string={"text": sentence, "url": HOME}).text
    listed = found.partition("<h2>Versions")[0].rpartition("<ul>")[2]
    assert f"/documents/{FIRST}" in found and listed.count("<li>") == 1
    assert HOME_TIMES[0][0][:4] in listed
    altered = client.get("/quote", query_string={"text": f"{sentence} never", "url": HOME}).text
    assert "No capture contains these words" in altered


def test_a_quotation_names_a_day_once_and_says_what_it_leaves_out(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    winter = client.get("/quote", query_string={"text": "Closed for the winter"}).text
    assert winter.partition("<h2>Versions")[0].count("24 Dec 2019") == 1
    assert "The first" not in winter
    monkeypatch.setattr("webapp.search.captures.SHOWN_VERSIONS", 2)
    assert "The first 2." in client.get("/quote", query_string={"text": "quarry museum"}).text


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
