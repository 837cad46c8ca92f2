"""The explorer: its numbers, its links, its files, and what it makes of hostile names."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from flask import Flask
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.facets.criteria import Criterion
from nwx.facets.features import Features
from nwx.facets.question import parse_condition
from nwx.model import Batch, Capture
from tests.web.holdings import HOSTILE_SITE, batch, holdings
from tests.web.html import Element, Page
from webapp import create_app
from webapp.explore.answers import MOST_COLUMNS, Line
from webapp.explore.charts import with_gaps
from webapp.explore.labels import value_labels

pytestmark = pytest.mark.xdist_group("explore")

CAPTURES = list(batch().captures)
OF: dict[str, Callable[[Capture], str]] = {
    "month": lambda one: Criterion.MONTH.definition.of_value(one.timestamp),
    "year": lambda one: one.timestamp[:4],
    "type": lambda one: one.content_type_norm,
    "status": lambda one: Criterion.STATUS.definition.of_value(one.status_code),
    "site": lambda one: one.domain,
    "size": lambda one: Criterion.SIZE.definition.of_value(one.content_length),
    "collection": lambda one: one.collection,
}


@pytest.fixture(scope="module")
def holding_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path_factory.mktemp("explore") / "archive") as engine:
        engine.create()
        engine.write(batch())
        engine.refresh()
        yield engine


@pytest.fixture(scope="module")
def holding_app(holding_engine: Engine) -> Flask:
    return create_app(holding_engine, replay_port=9_999)


@pytest.fixture
def client(holding_app: Flask) -> FlaskClient:
    return holding_app.test_client()


def _page(client: FlaskClient, address: str) -> Page:
    answer = client.get(address)
    assert answer.status_code == 200, answer.text
    page = Page(answer.text)
    assert page.faults == []
    return page


def _status(page: Page) -> str:
    return " ".join(page.all("p", role="status")[0].text.split())


def _links(page: Page, label: str) -> list[str]:
    return [
        link.attributes["href"] for link in page.all("a") if " ".join(link.text.split()) == label
    ]


def _table(client: FlaskClient, query: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(client.get(f"/explore/table.csv?{query}").text)))


def _row(page: Page, value: str) -> list[str]:
    """Return the texts of the cells of a row of the table."""
    cells: list[Element] = []
    inside = False
    for element in page.elements:
        if element.tag == "tr":
            inside = False
        if element.tag == "th" and element.attributes.get("scope") == "row":
            inside = element.text.strip() == value
        if inside and element.tag == "td":
            cells.append(element)
    return [cell.text.strip() for cell in cells]


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


def test_years_are_drawn_along_time(client: FlaskClient) -> None:
    page = _page(client, "/explore?by=type,year")
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


def test_the_whole_archive_by_month(client: FlaskClient) -> None:
    page = _page(client, "/explore")
    assert _status(page).startswith(f"{len(CAPTURES)} captures in the archive")
    counts = Counter(map(OF["month"], CAPTURES))
    rows = page.all("th", scope="row")
    assert [row.text.strip() for row in rows] == sorted(counts)
    assert all(_row(page, month)[0] == str(count) for month, count in counts.items())


@pytest.mark.parametrize("criterion", OF)
def test_every_list_adds_up_to_a_plain_count(client: FlaskClient, criterion: str) -> None:
    counts = Counter(map(OF[criterion], CAPTURES))
    rows = _table(client, f"by={criterion}&top=100")
    assert {row[criterion].removeprefix("'"): int(row["captures"]) for row in rows} == counts


def test_features_beside_each_other(client: FlaskClient) -> None:
    chosen = [one for one in CAPTURES if one.content_type_norm == "pdf"]
    (row,) = [row for row in _table(client, "by=type") if row["type"] == "pdf"]
    assert int(row["captures"]) == len(chosen)
    assert int(row["unique_documents"]) == len({one.digest for one in chosen})
    assert int(row["unique_urls"]) == len({one.url for one in chosen})
    assert int(row["bytes"]) == sum(one.content_length or 0 for one in chosen)
    assert float(row["duplication_ratio"]) == pytest.approx(
        int(row["bytes"]) / int(row["unique_bytes"])
    )


def test_a_value_refines_and_steps_back(client: FlaskClient) -> None:
    page = _page(client, "/explore?by=type&feature=bytes")
    (address,) = _links(page, "pdf")
    assert parse_qs(urlsplit(address).query) == {"where": ["type=pdf"], "feature": ["bytes"]}
    refined = _page(client, address)
    assert _status(refined).startswith(f"{sum(c.content_type_norm == 'pdf' for c in CAPTURES)} ")
    (month,) = _links(refined, "2013-05")
    twice = _page(client, month)
    assert "Status" in twice.all("table")[0].text
    (back,) = _links(twice, "← Back")
    assert parse_qs(urlsplit(back).query)["where"] == ["type=pdf"]
    assert _page(client, back).all("figcaption")[0].text == "Bytes by month"


def test_a_condition_is_taken_away_by_its_chip(client: FlaskClient) -> None:
    page = _page(client, "/explore?where=type%3Dpdf&where=month%3D2013-01..2013-12&by=site")
    chips = page.all("ul", class_="chips")[0]
    assert "pdf" in chips.text
    assert "2013-01 – 2013-12" in chips.text
    (chip,) = [link for link in page.all("a") if "Remove Type" in " ".join(link.text.split())]
    query = parse_qs(urlsplit(chip.attributes["href"]).query)
    assert query == {"where": ["month=2013-01..2013-12"], "by": ["site"]}


def test_two_criteria_make_a_grid(client: FlaskClient) -> None:
    page = _page(client, "/explore?by=status,type")
    counts = Counter((OF["status"](one), one.content_type_norm) for one in CAPTURES)
    heads = [head.text.strip() for head in page.all("th", scope="col")][1:-2]
    cells = _row(page, "ok")
    assert dict(zip(heads, map(int, cells), strict=False)) == {
        type_: count for (status, type_), count in counts.items() if status == "ok"
    }
    total = sum(count for (status, _), count in counts.items() if status == "ok")
    assert cells[len(heads)] == str(total)


def test_what_has_no_column_is_still_in_the_sum(client: FlaskClient) -> None:
    page = _page(client, "/explore?by=type,site")
    heads = [head.text.strip() for head in page.all("th", scope="col")]
    assert heads.index("all others") == MOST_COLUMNS + 1
    cells = [int(cell or 0) for cell in _row(page, "html")[: MOST_COLUMNS + 2]]
    assert sum(cells[:-1]) == cells[-1]
    assert "only the largest have a column" in page.all("main")[0].text


def test_a_cell_leads_to_its_captures(client: FlaskClient) -> None:
    page = _page(client, "/explore?by=status,type")
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
    found = _page(client, link.attributes["href"])
    assert _status(found).startswith(f"{count} capture")
    assert len(found.all("tr")) == count + 1


def test_captures_come_in_pages(client: FlaskClient) -> None:
    page = _page(client, "/explore/captures?where=type%3Dhtml")
    total = sum(one.content_type_norm == "html" for one in CAPTURES)
    assert _status(page) == f"{total} captures · page 1 of {-(-total // 50)}"
    seen = [cell.text for cell in page.all("td", class_="url-cell")[1::2]]
    following = page.all("a", rel="next")
    while following:
        page = _page(client, following[0].attributes["href"])
        seen += [cell.text for cell in page.all("td", class_="url-cell")[1::2]]
        following = page.all("a", rel="next")
    assert len(seen) == len(set(seen)) == total
    assert "There is no page 100" in _page(client, "/explore/captures?page=100").source


def test_a_capture_leads_to_playback_and_its_document(client: FlaskClient) -> None:
    page = _page(client, "/explore/captures?where=tld%3Dexample&where=month%3D2014-01")
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
    (address,) = _links(Page(answer.text), "Search within")
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
    (address,) = _links(
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
    page = _page(client, f"/explore?where=site%3D{sites}&where=type%3Dhtml")
    assert "cannot filter by site" in page.source
    (address,) = _links(page, "Search within")
    assert client.get(address).status_code == 200
    years = ",".join(map(str, range(1990, 2026)))
    (address,) = _links(_page(client, f"/explore?where=month%3D{years}"), "Search within")
    assert parse_qs(urlsplit(address).query)["q"][0].count("date:") == 36


@pytest.mark.parametrize("where", ["depth=1", "type=unknown", "status=ignored", "size=unknown"])
def test_where_the_search_has_no_filter_it_is_told(client: FlaskClient, where: str) -> None:
    page = _page(client, f"/explore?where={where.replace('=', '%3D')}&by=month")
    assert f"cannot filter by {where.partition('=')[0]}" in page.source


def test_two_selections_side_by_side(client: FlaskClient) -> None:
    page = _page(client, "/explore?where=site%3Dsite1.example&vs=site%3Dsite2.fr&by=type")
    first, second = (
        Counter(one.content_type_norm for one in CAPTURES if one.domain == site)
        for site in ("site1.example", "site2.fr")
    )
    for type_ in first:
        assert _row(page, type_)[:2] == [str(first[type_]), str(second[type_])]
    (alone,) = _links(page, "Show only that one")
    assert parse_qs(urlsplit(alone).query)["where"] == ["site=site2.fr"]
    table = _table(client, "where=site%3Dsite1.example&vs=site%3Dsite2.fr&by=type")
    assert Counter(row["selection"] for row in table) == {
        "this selection": len(first),
        "the other": len(second),
    }


def test_values_beyond_one_list_are_still_compared(client: FlaskClient) -> None:
    query = "where=type%3Dhtml&vs=type%3Dpdf&by=site&top=10"
    rows = {(row["selection"], row["site"]): int(row["captures"]) for row in _table(client, query)}
    html = Counter(one.domain for one in CAPTURES if one.content_type_norm == "html")
    pdf = Counter(one.domain for one in CAPTURES if one.content_type_norm == "pdf")
    assert len({site for _, site in rows}) >= 10
    for (selection, site), count in rows.items():
        assert count == (html if selection == "this selection" else pdf)[site]
    shown = {site for _, site in rows}
    assert {("the other", site) for site in shown & set(pdf)} <= set(rows)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("month=2013,2014-02", "2013, 2014-02"),
        ("month!=2013", "not 2013"),
        ("month=2013-01..", "2013-01 – …"),
        ("status=request_error,ok", "request error, ok"),
        ("type=html,pdf,image,text,style,video", "html, pdf, image, text + 2"),
    ],
)
def test_conditions_in_few_words(where: str, words: str) -> None:
    assert value_labels(parse_condition(where)) == words


def test_the_forms_narrow_and_compare(client: FlaskClient) -> None:
    to = client.get("/explore/change?criterion=month&is=not&value=2013&where=type%3Dpdf&by=site")
    query = parse_qs(urlsplit(to.location).query)
    assert query["where"][0] == "type=pdf"
    assert query["where"][1].startswith("month!=2013-01,2013-02")
    assert query["by"] == ["site"]
    to = client.get("/explore/change?criterion=site&value=a.example,b.example&compare=1")
    assert parse_qs(urlsplit(to.location).query)["vs"] == ["site=a.example,b.example"]
    assert client.get("/explore/change?criterion=site&value=").status_code == 400
    assert client.get("/explore/change?criterion=colour&value=red").status_code == 400


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("feature=weight", "choose one of captures"),
        ("by=colour", "use status"),
        ("by=month,site,type", "one or two are shown"),
        ("chart=pie", "choose one of bars"),
        ("order=random", "choose one of most"),
        ("top=11", "choose one of 10"),
        ("where=nonsense", "is no condition"),
        ("where=colour%3Dred", "there is no criterion"),
        ("where=month%3Dsoon", "is no month"),
        ("where=site%3D" + "x" * 5_000, "at most 4000"),
        ("&".join(f"where=site%3D{n}" for n in range(40)), "at most 30"),
    ],
)
def test_what_makes_no_sense_is_told(client: FlaskClient, query: str, words: str) -> None:
    answer = client.get(f"/explore?{query}")
    assert answer.status_code == 400
    assert words in unescape(answer.text)
    assert Page(answer.text).faults == []


def test_a_hostile_site_is_words_and_its_links_hold(client: FlaskClient) -> None:
    answer = client.get("/explore?by=site&top=100")
    assert "<script>alert" not in answer.text
    page = Page(answer.text)
    (address,) = _links(page, " ".join(HOSTILE_SITE.split()))
    refined = _page(client, address)
    assert _status(refined).startswith("1 capture ")
    spec = json.loads(page.all("script", id="chart-spec")[0].text)
    drawn = {row["site"] for row in spec["data"]["values"]}
    assert any(name.startswith("<script>") for name in drawn)
    assert not any("\u202e" in name for name in drawn)


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
    page = _page(client, "/explore")
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
        navs = _page(client, f"/explore?{query}").all("nav", **{"aria-label": "Chart"})
        return navs[0].text if navs else ""

    assert "Stacked" in kinds("by=month,type&feature=bytes")
    assert "Stacked" not in kinds("by=month,type&feature=unique_documents")
    assert "Treemap" in kinds("by=site&feature=bytes")
    assert kinds("by=site&feature=duplication_ratio") == ""


def test_months_between_have_a_place_in_the_chart(client: FlaskClient) -> None:
    page = _page(client, "/explore?where=site%3Dsite10.org")
    spec = json.loads(page.all("script", id="chart-spec")[0].text)
    months = [row["month"] for row in spec["data"]["values"]]
    years = {int(month[:4]) for month in months}
    assert len(months) == len(set(months))
    assert len(months) >= 12 * (max(years) - min(years) - 1)
    assert months == sorted(months)


def test_an_empty_selection_says_so(client: FlaskClient) -> None:
    page = _page(client, "/explore?where=site%3Dnowhere.example")
    assert "No captures" in _status(page)
    assert "No captures match these conditions" in page.source


def test_an_empty_archive_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    with EmbeddedEngine(tmp_path_factory.mktemp("empty") / "archive") as engine:
        engine.create()
        page = Page(create_app(engine).test_client().get("/explore").text)
        assert "This archive is empty" in page.source
        assert page.faults == []


def test_an_archive_of_many_sites_makes_no_long_page(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    (one,) = holdings(1)
    many = [
        replace(
            one,
            domain=f"s{number}.example",
            url=f"http://s{number}.example/",
            source_file_offset=number,
            timestamp=f"{1996 + number % 30}{1 + number % 12:02}01000000",
        )
        for number in range(20_000)
    ]
    with EmbeddedEngine(tmp_path_factory.mktemp("many") / "archive") as engine:
        engine.create()
        engine.write(Batch(captures=tuple(many)))
        engine.refresh()
        client = create_app(engine).test_client()
        for query in ("by=site&top=100", "by=site,month", "by=month,site", "by=site,site"):
            answer = client.get(f"/explore?{query}")
            assert answer.status_code == 200
            assert len(Page(answer.text).all("tr")) <= 601
            assert len(answer.data) < 2_000_000
        text = client.get("/explore?by=site").text
        assert "20 of 20,000 values are shown" in text


def test_every_criterion_can_be_listed_and_split(client: FlaskClient) -> None:
    for first in Criterion:
        for second in Criterion:
            assert client.get(f"/explore?by={first},{second}").status_code == 200
