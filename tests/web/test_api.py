"""The JSON API."""

import pytest
from flask.testing import FlaskClient

from tests.web.addresses import FIRST, SECOND, THIRD
from tests.web.archive import FILE, HOME


def test_a_search_is_answered(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=museum&collapse=none&limit=2").get_json()
    assert answer["total"] == {"value": 3, "relation": "eq"}
    assert len(answer["hits"]) == 2
    hit = answer["hits"][0]
    assert hit["url"] == HOME
    assert hit["title"] == "Quarry museum"
    assert "museum" in hit["snippet"]
    assert answer["took_ms"] >= 0


def test_facets_are_those_asked_for(client: FlaskClient) -> None:
    facets = client.get("/api/search?q=quarry&facets=type,year&facets=language").get_json()[
        "facets"
    ]
    assert set(facets) == {"type", "year", "language"}
    assert facets["type"] == [{"value": "html", "count": 48}, {"value": "pdf", "count": 1}]
    assert client.get("/api/search?facets=").get_json()["facets"] == {}


def test_filters_and_dates_narrow(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=quarry&language=fr&language=ar&from=2016").get_json()
    assert [hit["language"] for hit in answer["hits"]] == ["ar"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("langauge=en", "there is no parameter 'langauge'"),
        ("limit=2000", "whole number from 0 to 1000"),
        ("limit=-1", "whole number"),
        ("limit=1e2", "whole number"),
        ("limit=%D9%A3", "whole number"),
        ("limit=1&limit=2", "limit is given with different values"),
        ("facets=size", "there is no facet 'size'"),
        ("sort=best", "choose one of"),
        ("offset=9995&limit=10", ""),
    ],
)
def test_what_makes_no_sense_is_refused(client: FlaskClient, query: str, words: str) -> None:
    answer = client.get(f"/api/search?{query}")
    assert answer.status_code == 400
    error = answer.get_json()["error"]
    assert error["status"] == 400
    assert words in error["message"]


def test_a_query_error_tells_its_place(client: FlaskClient) -> None:
    answer = client.get("/api/search?q=quarry+(stone")
    assert answer.status_code == 400
    assert answer.get_json()["error"]["position"] == 7
    assert answer.get_json()["error"]["query"] == "quarry (stone"


def test_a_document_is_answered_whole(client: FlaskClient) -> None:
    answer = client.get(f"/api/documents/{FIRST}").get_json()
    assert answer["url"] == HOME
    assert answer["content"].startswith("Welcome to the quarry museum.")
    assert answer["dates"] == ["20090304050607", "20090304180000", "20100101000000"]
    assert [capture["source_file"] for capture in answer["captures"]] == [FILE] * 3
    assert answer["captures"][1]["record_type"] == "revisit"


def test_dates_name_their_collections(client: FlaskClient) -> None:
    answer = client.get(f"/api/documents/{SECOND}/dates").get_json()
    assert answer["dates"] == [
        {"timestamp": "20120501101010", "collection": "default"},
        {"timestamp": "20130501101010", "collection": "default"},
    ]


def test_versions_of_a_url_in_any_spelling(client: FlaskClient) -> None:
    answer = client.get("/api/versions?url=https://EXAMPLE.org").get_json()
    assert [version["id"] for version in answer["versions"]] == [FIRST, SECOND, THIRD]
    assert [version["captures"] for version in answer["versions"]] == [3, 2, 1]
    assert client.get("/api/versions?url=http://nowhere.example/").get_json()["versions"] == []
    assert client.get("/api/versions").status_code == 400


def test_stats_count_the_indices(client: FlaskClient) -> None:
    answer = client.get("/api/stats").get_json()
    assert answer["documents"]["entries"] == 49
    assert answer["captures"]["entries"] == 53


@pytest.mark.parametrize(
    "address", ["/api/documents/" + "0" * 32, "/api/documents/short", "/api/nope"]
)
def test_what_is_not_there_is_404_in_json(client: FlaskClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 404
    assert answer.get_json()["error"]["status"] == 404


def test_other_methods_are_refused_in_json(client: FlaskClient) -> None:
    answer = client.post("/api/search")
    assert answer.status_code == 405
    assert "GET" in answer.headers["Allow"]
    assert answer.get_json()["error"]["status"] == 405
