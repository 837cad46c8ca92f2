"""Queries over time, and the words of a selection of documents."""

import re
from html import unescape

from flask.testing import FlaskClient

from tests.web.html import Page, chart_rows


def test_queries_are_compared(client: FlaskClient) -> None:
    assert "Write up to six queries" in client.get("/trends").text
    page = client.get("/trends?q=quarry&q=museum&by=year&show=share")
    assert not Page(page.text).faults
    assert "/search?q=quarry&amp;from=2010&amp;to=2010" in page.text
    found = client.get("/api/trends?q=quarry&q=nowhere&by=month").json
    assert found is not None
    assert [one["query"] for one in found["trends"]] == ["quarry", "nowhere"]
    assert not any(point["captures"] for point in found["trends"][1]["points"])
    csv = client.get("/trends.csv?q=quarry").text.splitlines()
    assert csv[0].startswith("period,query,captures")
    picture = client.get("/trends.svg?q=quarry&by=month&show=documents")
    assert (picture.status_code, picture.mimetype) == (200, "image/svg+xml")


def test_numbers_lead_to_the_part_of_a_period_that_was_counted(client: FlaskClient) -> None:
    page = client.get("/trends?q=quarry&from=2010-01-01&to=2010-11").text
    assert "/search?q=quarry&amp;from=2010&amp;to=2010-11" in page
    page = client.get("/trends?q=quarry&from=2009-12&to=2010").text
    assert "/search?q=quarry&amp;from=2010&amp;to=2010" in page
    page = client.get("/trends?q=quarry&from=2010-01-01T00:00:01").text
    assert "/search?q=quarry&amp;from=2010-01-01T00:00:01&amp;to=2010" in page


def test_periods_without_captures_are_gaps_and_shares_come_first(client: FlaskClient) -> None:
    address = "/trends?q=quarry&q=nowhere&by=month&from=2010&to=2020"
    page = client.get(address).text
    shares = {row["value"] for row in chart_rows(page) if row["query"] == "nowhere"}
    assert shares == {0.0, None}
    assert 'value="share" selected' in page
    counts = {row["value"] for row in chart_rows(client.get(f"{address}&show=captures").text)}
    assert None in counts


def test_charts_write_percentages_as_the_table_does(client: FlaskClient) -> None:
    page = client.get("/trends?q=quarry", headers={"Accept-Language": "fr"}).text
    assert re.search(r'"percent": ?"(?:\\u00a0|\xa0)%"', page)


def test_links_of_trends_lead_somewhere(client: FlaskClient) -> None:
    page = client.get("/trends?q=quarry&by=month&show=share&_scheme=javascript&_external=1").text
    found = {unescape(one) for one in re.findall(r'(?:href|src)="([^"]*trends[^"]*)"', page)}
    assert not any("scheme=javascript" in one or "javascript:" in one for one in found)
    asked = [one for one in found if "q=quarry" in one]
    assert len(asked) >= 4
    assert {client.get(one).status_code for one in asked} == {200}
    assert client.get("/trends?q=quarry&endpoint=x&form=x&_anchor=a").status_code == 200


def test_wrong_use_of_trends(client: FlaskClient) -> None:
    broken = client.get("/trends?q=(quarry")
    assert broken.status_code == 400
    assert "bracket" in broken.text or "missing" in broken.text
    assert client.get("/trends?" + "q=a&" * 7).status_code == 400
    assert client.get("/trends?q=quarry&by=day").status_code == 400
    assert client.get("/trends.pdf?q=quarry").status_code == 404
    assert "Nothing was captured" in client.get("/trends?q=quarry&from=1950&to=1951").text


def test_words_of_a_selection(client: FlaskClient) -> None:
    assert "Write a query" in client.get("/words").text
    page = client.get("/words?q=quarry")
    assert page.status_code == 200
    assert not Page(page.text).faults
    found = client.get("/api/words?q=quarry&limit=3").json
    assert found is not None
    assert len(found["words"]) <= 3
    assert found["documents"] >= found["read"] > 0
    assert client.get("/words?q=(quarry").status_code == 400


def test_words_lead_to_their_documents(client: FlaskClient) -> None:
    page = client.get("/words", query_string={"q": "museum OR x", "from": "2000"}).text
    found = re.search(r'class="cloud-\d" href="([^"]+)"', page)
    assert found
    assert "q=(museum+OR+x)+AND+" in unescape(found[1]).replace("%28", "(").replace("%29", ")")
    assert "from=2000" in found[1]
    assert 'class="hit"' in client.get(unescape(found[1])).text
