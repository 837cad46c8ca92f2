"""Results as CSV and JSON with the fields that are chosen."""

import json

import pytest

from nwx.errors import UsageError
from nwx.exports.results import checked_fields, results_csv, results_json, results_urls
from nwx.model import Hit

HIT = Hit("1", "http://a.org/", "sha1:A", "=1+1", ("20100101000000", "2012"), 0.5, host="a.org")


def test_chosen_fields_come_in_their_order() -> None:
    assert list(results_csv([HIT], ("host", "captures", "title"))) == [
        "host,captures,title\r\n",
        "a.org,2,'=1+1\r\n",
    ]
    assert json.loads("".join(results_json([HIT], ("dates", "url")))) == [
        {"dates": "20100101000000 2012", "url": "http://a.org/"}
    ]


def test_whole_hits_and_urls_need_no_fields() -> None:
    (whole,) = json.loads("".join(results_json([HIT])))
    assert whole["id"] == "1"
    assert next(results_csv([])).startswith("url,title,first_date")
    assert list(results_urls([HIT])) == ["http://a.org/\n"]


def test_fields_are_known_and_come_once() -> None:
    assert checked_fields(["url", "id", "url"]) == ("url", "id")
    with pytest.raises(UsageError, match="choose of url, title"):
        checked_fields(["colour"])
