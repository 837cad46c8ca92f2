"""Charts of the explorer: axes, images and files."""

import json
import re

import pytest
from flask.testing import FlaskClient

from nwx.facets.question import Features
from tests.web.explore.views import CAPTURES, sound_page
from tests.web.html import chart_rows
from webapp.explore.answers import Line
from webapp.explore.charts import with_gaps

pytestmark = pytest.mark.xdist_group("explore")


def _months(*values: str, captures: int = 1) -> tuple[Line, ...]:
    return tuple(Line(value, Features(captures=captures)) for value in values)


def test_months_without_captures_stand_between_those_with_some() -> None:
    filled = with_gaps(_months("1997-03", "2008-11", "2024-02", "unknown"), 0)
    values = [line.value for line in filled]
    assert values[0] == "1997-03"
    assert values[-2:] == ["2024-02", "unknown"]
    assert len(values) == 27 * 12 + 1
    assert [line.value for line in filled if line.whole.captures] == [
        *("1997-03", "2008-11", "2024-02", "unknown")
    ]


def test_years_without_captures_stand_between_those_with_some() -> None:
    values = [line.value for line in with_gaps(_months("1997", "2001", "9999", "unknown"), 0)]
    assert values == ["1997", "1998", "1999", "2000", "2001", "9999", "unknown"]


def test_months_without_captures_are_gaps_and_no_zeros(client: FlaskClient) -> None:
    rows = chart_rows(client.get("/explore?chart=lines").text)
    months = {f"{one.timestamp[:4]}-{one.timestamp[4:6]}" for one in CAPTURES}
    assert {row["month"] for row in rows if row["captures"] is not None} <= months
    assert any(row["captures"] is None for row in rows)


def test_years_are_drawn_along_time(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?by=type,year")
    assert page.all("figcaption")[0].text == "Captures by year and type"
    assert {"Stacked", "Lines", "Heat map"} <= {link.text.strip() for link in page.all("a")}
    svg = client.get("/explore/chart.svg?by=year")
    assert svg.status_code == 200
    years = sorted({one.timestamp[:4] for one in CAPTURES})
    assert all(f">{year}<" in svg.text for year in (years[0], years[-1]))


def test_damaged_dates_stretch_no_chart() -> None:
    lines = (*_months("0201-05"), *_months("2010-01", "2010-04", captures=9), *_months("9999-12"))
    values = [line.value for line in with_gaps(lines, 0)]
    assert values == ["0201-05", "2010-01", "2010-02", "2010-03", "2010-04", "9999-12"]


def test_spreadsheets_run_no_formulas(client: FlaskClient) -> None:
    text = client.get("/explore/table.csv?by=site&top=100").text
    assert not [line for line in text.splitlines() if line.startswith(("=", "+", "@"))]


def test_the_table_as_json(client: FlaskClient) -> None:
    told = client.get("/explore/table.json?by=type&where=status%3Dok").get_json()
    assert told["where"] == ["status=ok"]
    assert sum(row["captures"] for row in told["rows"]) == told["total"]["captures"]
    assert told["found"] == len(told["rows"])


@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_chart_as_a_picture(client: FlaskClient, form: str) -> None:
    answer = client.get(f"/explore/chart.{form}?by=month,status&scheme=dark")
    assert answer.status_code == 200
    assert answer.mimetype == {"svg": "image/svg+xml", "png": "image/png"}[form]
    assert answer.data.startswith({"svg": b"<svg", "png": b"\x89PNG"}[form])
    assert "unsafe" not in answer.headers["Content-Security-Policy"]


def test_files_of_no_kind_and_schemes_of_no_colour(client: FlaskClient) -> None:
    assert client.get("/explore/chart.gif").status_code == 404
    assert client.get("/explore/table.xls").status_code == 404
    assert client.get("/explore/chart.svg?scheme=pink").status_code == 400


def test_the_libraries_are_served_packed_and_kept(client: FlaskClient) -> None:
    page = sound_page(client, "/explore")
    (script,) = [
        found for found in page.all("script") if "vega.js" in found.attributes.get("src", "")
    ]
    address = script.attributes["src"]
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    plain = client.get(address)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert len(packed.data) * 2 < len(plain.data)
    assert b"vegaEmbed" in plain.data
    assert "immutable" in plain.headers["Cache-Control"]
    again = client.get(address, headers={"If-None-Match": plain.headers["ETag"]})
    assert again.status_code == 304


def test_charts_are_only_offered_where_they_tell_the_truth(client: FlaskClient) -> None:
    def kinds(query: str) -> str:
        navs = sound_page(client, f"/explore?{query}").all("nav", **{"aria-label": "Chart"})
        return navs[0].text if navs else ""

    assert "Stacked" in kinds("by=month,type&feature=bytes")
    assert "Stacked" not in kinds("by=month,type&feature=unique_documents")
    assert "Treemap" in kinds("by=site&feature=bytes")
    assert kinds("by=site&feature=duplication_ratio") == ""


def test_months_between_have_a_place_in_the_chart(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?where=site%3Dsite10.org")
    spec = json.loads(page.all("script", id="chart-spec")[0].text)
    months = [row["month"] for row in spec["data"]["values"]]
    years = {int(month[:4]) for month in months}
    assert len(months) == len(set(months))
    assert len(months) >= 12 * (max(years) - min(years) - 1)
    assert months == sorted(months)


def test_a_phone_without_scripts_gets_a_narrow_picture(client: FlaskClient) -> None:
    widths = [
        int(float(re.findall(r'<svg[^>]* width="([\d.]+)"', client.get(address).text)[0]))
        for address in ("/explore/chart.svg?narrow=1", "/explore/chart.svg")
    ]
    assert widths == [460, 960]
