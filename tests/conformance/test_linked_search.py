"""Links in searches: documents found by anchors, link fields, order and its explanation."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.model import Collapse, FoundByLinks, Link, Sort
from nwx.query.parser import parse_query
from nwx.query.question import Question
from tests.conformance.archive import batch, page
from tests.conformance.asking import ask, names, search
from tests.conformance.engines import new_archive

NEW_ARCHIVES = True
"""Deleted entries would count in the statistics tested here."""

HOME = "http://museum.example/"
REPORT = "http://museum.example/report.pdf"


def _linking(host: str, *links: tuple[str, str], content: str = "") -> object:
    return page(
        f"http://{host}/from-{host}",
        "2012",
        content or f"page of {host}",
        links=tuple(Link(url, text) for url, text in links),
    )


BATCHES = [
    batch(
        [
            page(
                HOME,
                "2010",
                "quarry tools and stones",
                title="Quarry",
                links=(
                    Link(REPORT, "Our Annual Report"),
                    Link("http://museum.example/own", "own words"),
                ),
            ),
            page(REPORT, "2011", "", content_type="application/pdf"),
            page("http://museum.example/own", "2011", "something else"),
            page("http://museum.example/lonely", "2013", "annual accounts of a quarry"),
            page("http://farm.test/target", "2012", "stones"),
            *(
                _linking(
                    f"www.site{n}.test", (REPORT, "Annual report 2009"), (HOME, "stone museum")
                )
                for n in range(3)
            ),
            _linking("blog.test", (HOME, "museum"), (REPORT, "PDF"), (REPORT, "PDF")),
            _linking("farm.test", *[("http://farm.test/target", "museum")] * 50),
            _linking("far.test", ("http://nowhere.test/", "annual report museum")),
        ]
    )
]


@pytest.fixture(scope="module")
def linked(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """The archive with inverted links."""
    folder = tmp_path_factory.mktemp(kind)
    with (
        pytest.MonkeyPatch.context() as patch,
        new_archive(kind, folder, request) as opener,
        opener() as opened,
    ):
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        patch.setattr(Path, "home", lambda: folder)
        opened.create()
        for one in BATCHES:
            opened.write(one)
        opened.refresh()
        invert_links(opened, opener, InlinkBuildOptions(workers=1))
        yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("annual report", "report.pdf"),
        ("report 2009", "report.pdf"),
        ("annual", "report.pdf lonely"),
        ("own words", "own"),
        ("museum", " target own lonely report.pdf"),
        ("annual -pdf", "lonely"),
        ("stone museum", ""),
        ('"stone museum"', ""),
        ('"museum stone"', "none"),
        ("anchor:museum", " target"),
        ('anchor:"annual report"', "report.pdf"),
        ('anchor:"report annual"', "none"),
        ('anchor:"report annual"~2', "report.pdf"),
        ("anchor:muse*", " target"),
        ("anchor:m?se*m", " target"),
        ("anchor:musaum~1", " target"),
        ("anchor:*", " report.pdf own target"),
        ("anchor:ANNUAL type:pdf", "report.pdf"),
        ("annual type:html", "lonely"),
        ("stones -anchor:museum", "none"),
        ("stones anchor:museum", " target"),
        ("anchor:museum OR title:accounts", " target"),
        ("annual date:2013", "lonely"),
        ("annual date:2011", "report.pdf"),
        ("annual NOT date:2011", "lonely"),
        ("inlinks:>=4", " report.pdf"),
        ("inlinks:[1 TO 3]", "own target"),
        ("inlinks:5", "report.pdf"),
        ("inlinks:*", " report.pdf own target"),
        ("linking_hosts:1", "own target"),
        ("linking_domains:>=4", " report.pdf"),
        ("inlinks:0 quarry", "lonely"),
        ("quarry inlinks:<3", "lonely"),
        ("quarry NOT inlinks:0", ""),
        ("inlinks:>1000", "none"),
    ],
)
def test_what_is_found(linked: Engine, query: str, expected: str) -> None:
    wanted = set() if expected == "none" else set(expected.split(" "))
    assert ask(linked, parse_query(query)) == wanted
    newest = ask(linked, parse_query(query), sort=Sort.NEWEST)
    assert newest == wanted


def test_filters_and_facets_hold_for_what_links_find(linked: Engine) -> None:
    found = search(linked, parse_query("annual"), filters={"type": ["pdf"]}, facets=("type",))
    assert names(found) == ["report.pdf"]
    assert {one.value: one.count for one in found.facets["content_type_norm"]} == {
        "pdf": 1,
        "html": 1,
    }
    assert ask(linked, parse_query("annual"), filters={"year": ["2011"]}) == {"report.pdf"}
    assert ask(linked, parse_query("annual"), filters={"domain": ["blog.test"]}) == set()
    assert ask(linked, parse_query("annual"), date_from="2012") == {"lonely"}


def test_a_document_found_by_links_alone_says_so(linked: Engine) -> None:
    (found,) = search(linked, parse_query("annual report")).hits
    assert found.found_by_links == FoundByLinks("Annual report 2009", 3)
    assert found.score_parts is not None
    assert (found.score_parts.text, found.score_parts.linking_domains) == (0.0, 5)
    (found,) = search(linked, parse_query("anchor:annual")).hits
    assert found.found_by_links == FoundByLinks("Annual report 2009", 3)
    assert found.score_parts is not None and found.score_parts.text == 0.0
    dated = search(linked, parse_query("annual"), sort=Sort.NEWEST).hits
    assert [one.found_by_links for one in dated] == [None, FoundByLinks("Annual report 2009", 3)]


def test_the_score_is_the_higher_of_two_with_half_of_the_lower_times_a_factor(
    linked: Engine,
) -> None:
    for query in ("quarry", "museum", "annual", "anchor:museum", "title:quarry"):
        found = search(linked, parse_query(query)).hits
        assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        for hit in found:
            parts = hit.score_parts
            assert parts is not None
            both = parts.text, parts.anchor
            expected = (max(both) + 0.5 * min(both)) * parts.inlink_factor
            assert hit.score == pytest.approx(expected, rel=1e-3)


def test_one_host_counts_once_for_an_anchor(linked: Engine) -> None:
    """Fifty anchors from one site weigh no more than one from each of three sites."""
    found = search(linked, parse_query("anchor:museum")).hits
    assert [hit.url for hit in found] == [HOME, "http://farm.test/target"]


def test_the_order_by_inlinks(linked: Engine) -> None:
    found = names(search(linked, parse_query("*"), sort=Sort.INLINKS))
    assert found[:4] == ["report.pdf", "", "target", "own"]
    rest = names(search(linked, parse_query("NOT inlinks:*"), sort=Sort.NEWEST))
    assert found[4:] == rest
    pages = [
        names(search(linked, parse_query("*"), sort=Sort.INLINKS, offset=offset, limit=3))
        for offset in range(0, len(found), 3)
    ]
    assert [one for page in pages for one in page] == found
    few = names(search(linked, parse_query("stones"), sort=Sort.INLINKS, collapse=Collapse.URL))
    assert few == ["", "target"]


def test_pages_of_ranked_hits_hold_each_once(linked: Engine) -> None:
    tree = parse_query("museum OR annual OR page")
    whole = [hit.id for hit in search(linked, tree).hits]
    pages = [
        hit.id
        for offset in range(0, len(whole), 2)
        for hit in search(linked, tree, offset=offset, limit=2).hits
    ]
    assert pages == whole


def test_what_came_after_the_build_is_joined_by_its_url(
    engine: Engine, open_archive: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    engine.write(BATCHES[0])
    engine.refresh()
    invert_links(engine, open_archive, InlinkBuildOptions(workers=1))  # type: ignore[arg-type]
    assert ask(engine, parse_query("own words")) == {"own"}
    engine.write(batch([page("http://museum.example/own", "2015", "another version")]))
    engine.refresh()
    found = search(engine, parse_query("own words"))
    assert [hit.dates[0][:4] for hit in found.hits] == ["2015", "2011"]


def test_without_inlinks_nothing_is_linked(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    assert ask(engine, parse_query("annual")) == {"lonely"}
    assert ask(engine, parse_query("anchor:museum")) == set()
    assert ask(engine, parse_query("inlinks:>0")) == set()
    assert ask(engine, parse_query("quarry inlinks:0")) == {"", "lonely"}
    question = Question("quarry", sort=Sort.INLINKS, limit=5)
    newest = engine.search(replace(question, sort=Sort.NEWEST))
    assert names(engine.search(question)) == names(newest)
