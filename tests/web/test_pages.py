"""Every page: its HTML, headers, and content."""

import gzip
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from tests.web.addresses import ERRORS, FIRST, HOSTILE, LONG, MISSING, PAGES, SECOND, THIRD
from tests.web.html import Page
from webapp import create_app
from webapp.search import history

_TEMPLATES = Path(__file__).parents[2] / "webapp" / "templates"


@pytest.mark.parametrize("accepted", ["gzip, deflate, br", "gzip;q=0.5"])
@pytest.mark.parametrize(
    "address", ["/search?q=quarry", "/api/search?q=quarry", "/explore", "/api/openapi.json"]
)
def test_answers_are_compressed_where_asked(
    client: FlaskClient, address: str, accepted: str
) -> None:
    plain = client.get(address, headers={"Accept-Encoding": "gzip;q=0"})
    packed = client.get(address, headers={"Accept-Encoding": accepted})
    assert plain.content_encoding is None
    assert packed.content_encoding == "gzip"
    for answer in (plain, packed):
        assert "Accept-Encoding" in answer.vary
        assert answer.content_length == len(answer.data)
    text = gzip.decompress(packed.data).decode()
    assert _without_times(text) == _without_times(plain.text)
    assert 2 * len(packed.data) < len(plain.data)


def _without_times(text: str) -> str:
    return re.sub(r"[0-9.,]+( ms\b)|(took_ms\":) ?[0-9.]+", r"\1\2", text)


@pytest.mark.parametrize("address", ["/static/style.css", "/robots.txt", "/explore/vega.js"])
def test_small_and_compressed_answers_stay_as_they_are(client: FlaskClient, address: str) -> None:
    with client.get(address, headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.status_code == 200
        assert answer.content_length == len(answer.data)


@pytest.mark.parametrize("name", PAGES)
def test_pages_are_sound(client: FlaskClient, name: str) -> None:
    answer = client.get(PAGES[name])
    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    assert Page(answer.text).faults == []


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_pages_too(client: FlaskClient, name: str) -> None:
    address, status = ERRORS[name]
    answer = client.get(address)
    assert answer.status_code == status
    assert Page(answer.text).faults == []


@pytest.mark.parametrize("address", [*PAGES.values(), *(a for a, _ in ERRORS.values())])
def test_headers_forbid_what_no_page_needs(client: FlaskClient, address: str) -> None:
    headers = client.get(address).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_home_shows_what_the_archive_holds(client: FlaskClient) -> None:
    page = Page(client.get("/").text)
    assert "49 documents" in page.all("p", class_="size-line")[0].text
    assert "53 captures" in page.all("p", class_="size-line")[0].text
    assert [bar.attributes["href"] for bar in page.all("a", title="2019: 1")] == [
        "/search?year=2019"
    ]


def test_a_home_address_with_a_question_answers_it(client: FlaskClient) -> None:
    assert "47" in Page(client.get("/?q=quarry").text).all("p", role="status")[0].text


def test_results_show_title_snippet_badges_and_dates(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=museum").text)
    hit = page.all("li", class_="hit")[0]
    assert "Quarry museum" in hit.text
    assert [mark.text for mark in page.all("mark")] == ["museum"]
    assert "3 versions" in hit.text
    assert {badge.text for badge in page.all("span", class_="badge")} == {"html", "English", "200"}


def test_results_link_to_playback_of_first_and_last_capture(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=Mondays&collapse=none&to=2011").text)
    links = [link.attributes["href"] for link in page.all("a")]
    assert "/replay/20090304050607/http://www.example.org/" in links
    assert "/replay/20100101000000/http://www.example.org/" in links


def test_a_filter_narrows_and_can_be_taken_away(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=quarry&type=pdf").text)
    assert len(page.all("li", class_="hit")) == 1
    chip = next(link for link in page.all("a") if "Remove" in link.text)
    assert "pdf" in chip.text
    assert chip.attributes["href"] == "/search?q=quarry"


def test_a_filtered_facet_still_offers_its_other_values(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=quarry&type=pdf").text)
    offered = {link.attributes["href"] for link in page.all("a")}
    assert "/search?q=quarry&type=pdf&type=html" in offered


def test_the_chart_keeps_all_years_when_one_is_chosen(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=quarry&year=2019").text)
    bars = [link for link in page.all("a") if ": " in link.attributes.get("title", "")]
    assert len(page.all("li", class_="hit")) == 1
    assert len(bars) > 10
    assert [bar.text.split()[0] for bar in bars if "aria-current" in bar.attributes] == ["2019"]


def test_dates_narrow_over_all_dates_of_a_document(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=museum&from=2010&to=2010&collapse=none").text)
    assert len(page.all("li", class_="hit")) == 1
    assert "Captured" in page.all("ul", class_="chips")[0].text


def test_pages_lead_on_and_keep_the_question(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=quarry&type=html&page=2").text)
    (following,) = page.all("a", rel="next")
    assert following.attributes["href"] == "/search?q=quarry&type=html&page=3"
    assert page.all("ol", class_="hits")[0].attributes["start"] == "11"


def test_files_and_errors_come_after_pages_and_are_counted(client: FlaskClient) -> None:
    address = "/search?q=quarry&collapse=none"
    (link,) = [
        a for a in Page(client.get(address).text).all("a") if "files" in a.attributes["href"]
    ]
    files = client.get(link.attributes["href"])
    count = re.search(r"<strong>(\d+)</strong> result", files.text)
    assert count
    assert link.text.split()[0] == count[1]
    assert "files and errors" not in client.get(f"{address}&sort=all-types").text
    assert "q=type%3Afiles" in client.get("/search?collapse=none").text


def test_beyond_the_window_the_end_is_told(client: FlaskClient) -> None:
    answer = client.get("/search?q=quarry&page=1001")
    assert answer.status_code == 400
    assert "10,000 results" in answer.text
    assert (
        "/search?q=quarry&page=1000" in Page(answer.text).all("main")[0].text
        or "page=1000" in answer.text
    )


def test_a_query_error_shows_its_place(client: FlaskClient) -> None:
    answer = client.get("/search?q=quarry+(stone")
    page = Page(answer.text)
    assert answer.status_code == 400
    assert "not closed" in page.all("p", role="alert")[0].text
    assert page.all("mark", class_="wrong")[0].text == "("
    lines = page.all("pre")[0].text.splitlines()
    assert lines[0][lines[1].index("^")] == "("


def test_no_results_lead_back(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=quarry&language=de").text)
    assert "No results" in page.all("p", role="status")[0].text
    links = {link.text: link.attributes["href"] for link in page.all("a")}
    assert links["47 results"] == "/search?q=quarry"
    assert links["Search without Language German"] == "/search?q=quarry"


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("sort=best", "choose one of relevance, all-types, oldest, newest"),
        ("collapse=host", "choose one of url, similar, none"),
        ("per_page=11", "choose one of 10, 20, 50, 100"),
        ("page=0", "whole number from 1"),
        ("page=two", "whole number from 1"),
        ("year=20", "four digits"),
        ("status=ok", "number, such as 404"),
        ("from=soon", "is not a date"),
        ("to=2010-13", "has an impossible date"),
        ("from=2015&to=2010", "ends before it begins"),
        ("more=size", "choose one of collection"),
        ("q=" + "x" * 5_000, "at most 4,000"),
        ("host=" + "x" * 3_000, "at most 2,000"),
        ("&".join(f"host={n}" for n in range(60)), "at most 50"),
    ],
)
def test_values_that_make_no_sense_are_told(client: FlaskClient, query: str, words: str) -> None:
    answer = client.get(f"/search?{query}")
    assert answer.status_code == 400
    assert words in Page(answer.text).all("p", role="alert")[0].text


def test_a_refused_request_can_be_corrected(client: FlaskClient) -> None:
    refused = client.get("/missing?site=example.org&host=&from=<soon>")
    assert refused.status_code == 400
    fields = [one.attributes for one in Page(refused.text).all("input", dir="auto")]
    given = {one["name"]: one["value"] for one in fields if "name" in one}
    assert (given["site"], given["from"], "host" in given) == ("example.org", "<soon>", False)


@pytest.mark.parametrize("template", sorted(_TEMPLATES.glob("*.html")), ids=lambda one: one.stem)
def test_fields_in_a_row_are_within_their_labels(template: Path) -> None:
    """Otherwise a line break can separate a field from its label."""
    for form in re.findall(r'<form [^>]*class="links-form".*?</form>', template.read_text(), re.S):
        assert not re.search(r'</label>\s*<(?:select|input (?![^>]*type="(?:range|hidden)"))', form)


def test_a_document_shows_text_versions_and_places(client: FlaskClient) -> None:
    page = Page(client.get(f"/documents/{FIRST}").text)
    text = page.all("main")[0].text
    assert "Open on Mondays." in text
    assert "3 captures of this version" in " ".join(text.split())
    links = {link.attributes["href"] for link in page.all("a")}
    assert {f"/documents/{other}" for other in (SECOND, THIRD)} <= links
    assert "example-00000.warc.gz" in text


def test_a_version_without_a_document_is_named_and_not_linked(client: FlaskClient) -> None:
    page = Page(client.get(f"/documents/{MISSING}").text)
    assert "1 Jan 2015 not indexed" in page.all("main")[0].text
    assert [len(page.all("input", name=name, disabled="")) for name in ("old", "new")] == [1, 1]


def test_the_calendar_has_every_capture(client: FlaskClient) -> None:
    page = Page(client.get(f"/documents/{FIRST}?year=2009").text)
    links = {link.attributes["href"] for link in page.all("a")}
    assert "#day-20090304" in links
    assert "/replay/20090304050607/http://www.example.org/" in links
    assert "/replay/20090304180000/http://www.example.org/" in links
    years = {
        link.text.split(":")[0].strip()
        for link in page.all("a")
        if "year=" in link.attributes["href"] and "rel" not in link.attributes
    }
    assert years == {"2009", "2010", "2012", "2013", "2019"}


def test_a_long_text_comes_in_parts(client: FlaskClient) -> None:
    parts = [Page(client.get(f"/documents/{LONG}?part={n}").text) for n in range(1, 8)]
    shown = [part.all("div", class_="text")[0].text for part in parts]
    assert sum(text.count("Long quarry line.") for text in shown[:6]) == 4_000
    assert shown[6] == shown[5]


def test_links_out_are_links_only_where_they_are_safe(client: FlaskClient) -> None:
    page = Page(client.get(f"/documents/{FIRST}").text)
    out = page.all("a", rel="noreferrer noopener nofollow")
    assert "http://www.example.org/about" in [link.attributes["href"] for link in out]
    assert not [link for link in page.all("a") if link.attributes["href"].startswith("javascript")]
    assert "javascript:alert(5)" in page.all("main")[0].text


def test_a_difference_shows_what_went_and_came(client: FlaskClient) -> None:
    page = Page(client.get(f"/documents/{FIRST}/diff/{SECOND}").text)
    assert [gone.text for gone in page.all("del")] == ["2009"]
    assert [came.text for came in page.all("ins")] == [" and Tuesdays", "2012"]


def test_two_versions_are_compared_from_the_form(client: FlaskClient) -> None:
    answer = client.get(f"/documents/compare?old={FIRST}&new={THIRD}")
    assert answer.status_code == 302
    assert answer.location == f"/documents/{FIRST}/diff/{THIRD}"
    assert client.get("/documents/compare?old=x").status_code == 400


def test_a_capture_leads_to_its_document(client: FlaskClient) -> None:
    address = "/documents/of?url=http://example.org/&timestamp="
    assert client.get(address + "20120501").location == f"/documents/{SECOND}"
    assert client.get(address + "20191231").location == f"/documents/{THIRD}"
    assert client.get(address).location == f"/documents/{FIRST}"
    assert client.get(address + "soon").status_code == 400
    assert client.get("/documents/of?url=http://nowhere.example/").status_code == 404
    assert client.get("/documents/of").status_code == 400


def test_archived_words_never_become_markup(client: FlaskClient) -> None:
    for address in (
        "/search?q=quarry",
        f"/documents/{HOSTILE}",
        f"/documents/{HOSTILE}/diff/{FIRST}",
    ):
        text = client.get(address).text
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "&lt;script&gt;alert" in text
        assert Page(text).faults == []
    assert (
        "49" not in Page(client.get(f"/documents/{HOSTILE}").text).all("div", class_="text")[0].text
    )


def test_a_hostile_url_stays_within_its_link(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=hostile").text)
    links = [
        link.attributes["href"]
        for link in page.all("a")
        if "/replay/2015" in link.attributes["href"]
    ]
    assert (
        links
        == ["/replay/20150201000000/http://evil.example/?q=%22%3E%3Cscript%3Ealert(3)%3C/script%3E"]
        * 2
    )


def test_text_says_its_language_and_finds_its_direction(client: FlaskClient) -> None:
    page = Page(client.get("/search?q=quarry&language=ar").text)
    (snippet,) = page.all("p", class_="snippet")
    assert snippet.attributes["lang"] == "ar"
    assert snippet.attributes["dir"] == "auto"


def test_the_title_of_the_service_stands_everywhere(client: FlaskClient) -> None:
    assert "Quarry archive" in Page(client.get("/help").text).all("title")[0].text


def test_browsers_can_add_the_archive(client: FlaskClient) -> None:
    page = Page(client.get("/").text)
    (link,) = page.all("link", rel="search")
    answer = client.get(link.attributes["href"])
    assert answer.mimetype == "application/opensearchdescription+xml"
    assert 'template="http://localhost/search?q={searchTerms}"' in answer.text


def test_behind_a_proxy_browsers_add_the_address_of_readers(engine: Engine) -> None:
    client = create_app(engine, search_url="https://archive.example/search-it/").test_client()
    text = client.get("/opensearch.xml").text
    assert 'template="https://archive.example/search-it/search?q={searchTerms}"' in text


def test_crawlers_and_icons_are_answered(client: FlaskClient) -> None:
    assert "Disallow: /" in client.get("/robots.txt").text
    with client.get("/favicon.ico", follow_redirects=True) as icon:
        assert icon.mimetype == "image/svg+xml"


def test_captures_of_further_versions_are_counted(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "MOST_VERSIONS", 1)
    page = client.get(f"/documents/{FIRST}")
    assert page.status_code == 200
    assert "captures of other versions are not listed" in page.text


def test_a_page_that_was_made_before_is_the_same_for_those_who_chose_the_same(
    client: FlaskClient,
) -> None:
    def pages() -> list[str]:
        found = [
            client.get("/search?q=", headers={"Accept-Language": name}).text
            for name in ("en", "de")
        ]
        for cookie in ("theme=dark", "per_page=20"):
            client.set_cookie("nwx_settings", cookie)
            found.append(client.get("/search?q=").text)
        client.delete_cookie("nwx_settings")
        return found

    first = pages()
    assert len(set(first)) == len(first)
    assert pages() == first
    assert client.get("/search?q=&sort=oldest").text not in first


@pytest.mark.parametrize(
    ("address", "entry", "current"),
    [
        ("/search?q=quarry", "Documents", "page"),
        (f"/documents/{FIRST}", "Documents", "true"),
        (f"/pictures/{FIRST}", "Pictures", "true"),
        ("/crawls/new", "Crawls", "true"),
        ("/help", "", ""),
    ],
)
def test_the_menu_marks_the_entry_of_a_page(
    client: FlaskClient, address: str, entry: str, current: str
) -> None:
    menus = client.get(address).text.partition('class="top-links"')[2].partition("</nav>")[0]
    marked = re.findall(r'aria-current="(\w+)">(\w+)<', menus)
    assert marked == ([(current, entry)] if entry else [])
