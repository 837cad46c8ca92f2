"""Unit tests of playback scores as programs read them."""

import csv
import io
import json

from nwx.engine.quality.quality_index import Fault, PlaybackScore, QualityGroup, QualityTotals
from nwx.model import RenderPlace
from nwx.quality.scores.score_answers import (
    SCORE_COLUMNS,
    csv_of_scores,
    json_of_scores,
    quality_answer,
    score_answer,
)

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
