import json
from datetime import UTC, datetime

from nwx.model import Comparison
from nwx.quality.render_files.page_information import iso_date, pageinfo_json
from tests.rendering.renders import render

NOW = datetime(2026, 3, 4, 5, 6, 7, 890_123, UTC)


def test_dates_have_milliseconds() -> None:
    assert iso_date(NOW) == "2026-03-04T05:06:07.890Z"


def test_a_page_without_an_answer_has_browsertrix_status_for_unknown() -> None:
    assert json.loads(pageinfo_json(render(status=0), NOW))["tsStatus"] == 999


def test_what_was_not_compared_is_left_out() -> None:
    found = json.loads(pageinfo_json(render(), NOW, Comparison(text=1.0)))
    assert found["comparison"] == {"textMatch": 1.0, "resourceCounts": {}}


def test_broken_text_of_pages_is_written_all_the_same() -> None:
    assert json.loads(pageinfo_json(render("http://made.example/\ud800"), NOW))["url"]
