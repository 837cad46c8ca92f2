"""Counts in the explorer: lists, grids, comparisons, and messages."""

import json
from collections import Counter
from dataclasses import replace
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from nwx.engine.embedded import EmbeddedEngine
from nwx.facets.criteria import Criterion
from nwx.facets.question import parse_condition
from nwx.model import Batch
from tests.web.explore.views import CAPTURES, OF, links_of, row_of, sound_page, status_of, table_of
from tests.web.holdings import HOSTILE_SITE, holdings
from tests.web.html import Page
from webapp import create_app
from webapp.explore.answers import MOST_COLUMNS, value_labels

pytestmark = pytest.mark.xdist_group("explore")


def test_the_whole_archive_by_month(client: FlaskClient) -> None:
    page = sound_page(client, "/explore")
    assert status_of(page).startswith(f"{len(CAPTURES)} captures in the archive")
    counts = Counter(map(OF["month"], CAPTURES))
    rows = page.all("th", scope="row")
    assert [row.text.strip() for row in rows] == sorted(counts)
    assert all(row_of(page, month)[0] == str(count) for month, count in counts.items())


@pytest.mark.parametrize("criterion", OF)
def test_every_list_adds_up_to_a_plain_count(client: FlaskClient, criterion: str) -> None:
    counts = Counter(map(OF[criterion], CAPTURES))
    rows = table_of(client, f"by={criterion}&top=100")
    assert {row[criterion].removeprefix("'"): int(row["captures"]) for row in rows} == counts


def test_features_beside_each_other(client: FlaskClient) -> None:
    chosen = [one for one in CAPTURES if one.content_type_norm == "pdf"]
    (row,) = [row for row in table_of(client, "by=type") if row["type"] == "pdf"]
    assert int(row["captures"]) == len(chosen)
    assert int(row["unique_documents"]) == len({one.digest for one in chosen})
    assert int(row["unique_urls"]) == len({one.url for one in chosen})
    assert int(row["bytes"]) == sum(one.content_length or 0 for one in chosen)
    assert float(row["duplication_ratio"]) == pytest.approx(
        int(row["bytes"]) / int(row["unique_bytes"])
    )


def test_a_value_refines_and_steps_back(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?by=type&feature=bytes")
    (address,) = links_of(page, "pdf")
    assert parse_qs(urlsplit(address).query) == {"where": ["type=pdf"], "feature": ["bytes"]}
    refined = sound_page(client, address)
    assert status_of(refined).startswith(f"{sum(c.content_type_norm == 'pdf' for c in CAPTURES)} ")
    (month,) = links_of(refined, "2013-05")
    twice = sound_page(client, month)
    assert "Status" in twice.all("table")[0].text
    (back,) = links_of(twice, "← Back")
    assert parse_qs(urlsplit(back).query)["where"] == ["type=pdf"]
    assert sound_page(client, back).all("figcaption")[0].text == "Bytes by month"


def test_a_condition_is_taken_away_by_its_chip(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?where=type%3Dpdf&where=month%3D2013-01..2013-12&by=site")
    chips = page.all("ul", class_="chips")[0]
    assert "pdf" in chips.text
    assert "2013-01 – 2013-12" in chips.text
    (chip,) = [link for link in page.all("a") if "Remove Type" in " ".join(link.text.split())]
    query = parse_qs(urlsplit(chip.attributes["href"]).query)
    assert query == {"where": ["month=2013-01..2013-12"], "by": ["site"]}


def test_two_criteria_make_a_grid(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?by=status,type")
    counts = Counter((OF["status"](one), one.content_type_norm) for one in CAPTURES)
    heads = [head.text.strip() for head in page.all("th", scope="col")][1:-2]
    cells = row_of(page, "ok")
    assert dict(zip(heads, map(int, cells), strict=False)) == {
        type_: count for (status, type_), count in counts.items() if status == "ok"
    }
    total = sum(count for (status, _), count in counts.items() if status == "ok")
    assert cells[len(heads)] == str(total)


def test_what_has_no_column_is_still_in_the_sum(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?by=type,site")
    heads = [head.text.strip() for head in page.all("th", scope="col")]
    assert heads.index("all others") == MOST_COLUMNS + 1
    cells = [int(cell or 0) for cell in row_of(page, "html")[: MOST_COLUMNS + 2]]
    assert sum(cells[:-1]) == cells[-1]
    assert "only the largest have a column" in page.all("main")[0].text


def test_two_selections_side_by_side(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?where=site%3Dsite1.example&vs=site%3Dsite2.fr&by=type")
    first, second = (
        Counter(one.content_type_norm for one in CAPTURES if one.domain == site)
        for site in ("site1.example", "site2.fr")
    )
    for type_ in first:
        assert row_of(page, type_)[:2] == [str(first[type_]), str(second[type_])]
    (alone,) = links_of(page, "Show only that one")
    assert parse_qs(urlsplit(alone).query)["where"] == ["site=site2.fr"]
    table = table_of(client, "where=site%3Dsite1.example&vs=site%3Dsite2.fr&by=type")
    assert Counter(row["selection"] for row in table) == {
        "this selection": len(first),
        "the other": len(second),
    }


def test_values_beyond_one_list_are_still_compared(client: FlaskClient) -> None:
    query = "where=type%3Dhtml&vs=type%3Dpdf&by=site&top=10"
    rows = {
        (row["selection"], row["site"]): int(row["captures"]) for row in table_of(client, query)
    }
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
        ("by=month,site,type", "use one or two"),
        ("chart=pie", "choose one of bars"),
        ("order=random", "choose one of most"),
        ("top=11", "choose one of 10"),
        ("where=nonsense", "is not a condition"),
        ("where=colour%3Dred", "there is no criterion"),
        ("where=month%3Dsoon", "is not a valid month"),
        ("where=site%3D" + "x" * 5_000, "at most 4,000"),
        ("&".join(f"where=site%3D{n}" for n in range(40)), "at most 30"),
    ],
    ids=range(11),
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
    (address,) = links_of(page, " ".join(HOSTILE_SITE.split()))
    refined = sound_page(client, address)
    assert status_of(refined).startswith("1 capture ")
    spec = json.loads(page.all("script", id="chart-spec")[0].text)
    drawn = {row["site"] for row in spec["data"]["values"]}
    assert any(name.startswith("<script>") for name in drawn)
    assert not any("\u202e" in name for name in drawn)


def test_an_empty_selection_says_so(client: FlaskClient) -> None:
    page = sound_page(client, "/explore?where=site%3Dnowhere.example")
    assert "No captures" in status_of(page)
    assert "No captures match these conditions" in page.source


def test_an_empty_archive_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    with EmbeddedEngine(tmp_path_factory.mktemp("empty") / "archive") as engine:
        engine.create()
        client = create_app(engine).test_client()
        for address in ("/explore", "/hosts", "/search?q=a", "/trends?q=a", "/words?q=a"):
            page = Page(client.get(address).text)
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
