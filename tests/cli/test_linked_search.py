"""nwx search in an archive with inverted links."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.warcs import Page, write_warc

REPORT = "http://target.example/r.pdf"


@pytest.fixture
def linked(nwx: Nwx, tmp_path: Path) -> Nwx:
    """Runs nwx on an archive with a page that only other pages describe."""
    link = f'<html><title>{{}}</title><body><a href="{REPORT}">annual report</a>'
    pages = [
        Page(f"http://{host}.example/", f"201{year}0101000000", link.format(host).encode())
        for year, host in enumerate(("alpha", "beta", "gamma"))
    ]
    pages.append(Page(REPORT, "20140101000000", b"<html><body>nothing of that"))
    nwx("import", write_warc(tmp_path / "pages.warc.gz", pages))
    nwx("invert-links", "--quiet")
    return nwx


def test_what_links_found_says_so(linked: Nwx) -> None:
    found = linked("search", "anchor:annual").out
    assert "found by links: “annual report” from 3 hosts" in found
    (hit,) = linked("search", "annual", "type:html", "inlinks:3", "--json").json["hits"]
    assert hit["url"] == REPORT
    assert hit["found_by_links"] == {"anchor": "annual report", "hosts": 3}
    assert hit["score_parts"]["text"] == 0
    assert hit["score_parts"]["linking_domains"] == 3


def test_explain_shows_what_scores_are_made_of(linked: Nwx) -> None:
    plain, explained = (linked("search", "alpha", *more).out for more in ((), ("--explain",)))
    assert "= the higher of text" not in plain
    assert "= the higher of text" in explained.replace("\n", " ")
    assert "score" in linked("search", "alpha", "--sort", "newest", "--explain").out


def test_the_order_by_inlinks(linked: Nwx) -> None:
    hits = linked("search", "--sort", "inlinks", "--json").json["hits"]
    assert hits[0]["url"] == REPORT


def test_weights_of_0_leave_links_out(linked: Nwx) -> None:
    off = {"NWX_ANCHOR_WEIGHT": "0", "NWX_INLINK_WEIGHT": "0"}
    hits = linked("search", "annual report", "--json", **off).json["hits"]
    assert REPORT not in [hit["url"] for hit in hits]
    assert "score_parts" not in hits[0]
