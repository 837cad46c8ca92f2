"""Queries of playback scores."""

import csv
import io
import json

import pytest

from nwx.engine.indices.quality_index import (
    Fault,
    PlaybackScore,
    QualityFilter,
    QualityGroup,
    QualityTotals,
)
from nwx.errors import UsageError
from nwx.model import RenderPlace
from nwx.quality.scores import (
    SCORE_COLUMNS,
    check_review,
    csv_of_scores,
    json_of_scores,
    of_site,
    quality_answer,
    read_month,
    score_answer,
)


@pytest.mark.parametrize(
    ("site", "found"),
    [
        ("", QualityFilter()),
        ("example.org", QualityFilter(domain="example.org")),
        ("WWW.example.org", QualityFilter(host="www.example.org")),
        ("bbc.co.uk", QualityFilter(domain="bbc.co.uk")),
        ("localhost", QualityFilter(domain="localhost")),
        ("127.0.0.1", QualityFilter(domain="127.0.0.1")),
        ("Bücher.example.", QualityFilter(domain="xn--bcher-kva.example")),
        ("www.bücher.example", QualityFilter(host="www.xn--bcher-kva.example")),
        ("...", QualityFilter(host="...")),
    ],
)
def test_a_domain_has_all_its_hosts(site: str, found: QualityFilter) -> None:
    assert of_site(site) == found


def test_a_host_is_named_alone_or_within_a_domain() -> None:
    assert of_site("http://www.example.org/a") == QualityFilter(host="www.example.org")
    assert of_site("", "WWW.Example.org") == QualityFilter(host="www.example.org")
    found = of_site("example.org", "www.example.org")
    assert found == QualityFilter(host="www.example.org", domain="example.org")


def test_months_are_read() -> None:
    assert (read_month(""), read_month("2010-07"), read_month("201012")) == ("", "201007", "201012")
    for text in ("2010", "2010-13", "2010-07-01", "x" * 1_000):
        with pytest.raises(UsageError, match="is not a month"):
            read_month(text)


SCORE = PlaybackScore(
    id="web/a.warc.gz@7",
    collection="web",
    url="http://a.test/ä,b",
    urlkey="test,a)/ä,b",
    host="a.test",
    domain="a.test",
    timestamp="20200102030405",
    checked="20260102030405",
    rules="1",
    score=0.25,
    text=0.5,
    crawl_good=0,
    faults=(Fault("missing", "http://a.test/x", 404), Fault("console"), Fault("missing")),
    faults_total=9,
    crawl_view=RenderPlace("/secret/a.warc.gz", 0, 1),
)


def test_lines_of_csv_have_all_columns() -> None:
    first, row = csv.reader(io.StringIO("".join(csv_of_scores([SCORE]))))
    assert tuple(first) == SCORE_COLUMNS
    found = dict(zip(first, row, strict=True))
    assert (found["score"], found["text"], found["screenshot"]) == ("0.25", "0.5", "")
    assert (found["crawl_good"], found["crawl_bad"]) == ("0", "")
    assert (found["faults"], found["kinds"]) == ("9", "console missing")


def test_json_is_an_array_of_any_length() -> None:
    assert json.loads("".join(json_of_scores([]))) == []
    (found, other) = json.loads("".join(json_of_scores([SCORE, SCORE])))
    assert found == other
    assert found["faults"][0] == {
        "kind": "missing",
        "resource": "http://a.test/x",
        "status": 404,
        "detail": "",
    }
    assert "secret" not in json.dumps(found)


def test_an_answer_has_totals_and_scores() -> None:
    totals = QualityTotals(1, 0.25, kinds=(QualityGroup("missing", 1, 0.25),))
    answer = quality_answer(totals, [SCORE])
    assert (answer.pages, answer.kinds[0].value, answer.hosts) == (1, "missing", ())
    assert answer.scores == (score_answer(SCORE),)


@pytest.mark.parametrize(
    ("verdict", "marked"),
    [
        ("best", ""),
        ("", ""),
        ("Bad", ""),
        ("bad", "1,2,3"),
        ("bad", "1,2,3,x"),
        ("bad", "1,2,3,-4"),
        ("bad", "1,2,3,101"),
    ],
)
def test_what_is_no_review_is_an_error(verdict: str, marked: str) -> None:
    with pytest.raises(UsageError):
        check_review(verdict, marked)


@pytest.mark.parametrize("marked", ["", "0,0.0,100,100.0", "1.5,20.25,3,4"])
def test_verdicts_and_marks_are_taken(marked: str) -> None:
    for verdict in ("good", "usable", "bad"):
        check_review(verdict, marked)
