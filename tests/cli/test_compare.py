"""nwx compare."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.warcs import Page, html, write_warc

FIRST = [
    Page("http://a.test/", "20100101000000", html("Flood", "The flood came over the dyke.")),
    Page("http://a.test/2", "20100102000000", html("Sport", "The match was won by the others.")),
    Page("http://b.test/", "20100103000000", b"gone", status="404 Not Found"),
]
SECOND = [
    Page("http://a.test/", "20110101000000", html("Flood", "The flood came over the dyke.")),
    Page("http://a.test/2", "20110101000000", html("Sport", "The match was lost by the others.")),
    Page("http://c.test/", "20110101000000", html("Dyke", "A dyke keeps the flood from us.")),
]
SPECIFICATION = """
name = "floods"
seeds = ["http://a.test/", "http://d.test/"]
keywords = ["flood", "dyke"]
rules = [{ action = "blacklist", hosts = ["b.test"] }]
"""


@pytest.fixture
def archive(nwx: Nwx, tmp_path: Path) -> Nwx:
    nwx("import", write_warc(tmp_path / "1.warc.gz", FIRST), "--collection", "first")
    nwx("import", write_warc(tmp_path / "2.warc.gz", SECOND), "--collection", "second")
    (tmp_path / "floods.toml").write_text(SPECIFICATION, encoding="utf-8")
    return nwx


def test_two_collections(archive: Nwx) -> None:
    found = archive("compare", "first", "second", "--json").json
    assert [found[side]["captures"] for side in "ab"] == [3, 3]
    assert [found[side]["errors"] for side in "ab"] == [1, 0]
    assert found["overlap"]["urls"] == {
        "both": 2,
        "only_a": 1,
        "only_b": 1,
        "share_of_a": 0.6667,
        "share_of_b": 0.6667,
        "jaccard": 0.5,
    }
    assert found["overlap"]["documents"]["both"] == 1
    assert found["freshness"]["newer_in_b"] == 2
    assert found["freshness"]["changed"] == 1
    printed = archive("compare", "first", "second").out
    assert "Of the URLs in both, 0 are newer in first, 2 in second" in printed
    assert "a.test" in printed


def test_a_collection_and_its_specification(archive: Nwx, tmp_path: Path) -> None:
    path = str(tmp_path / "floods.toml")
    found = archive("compare", "first", path, "--json").json
    assert "b" not in found
    assert found["specification"]["seeds"] == 2
    assert found["a"]["rules"] == {"blacklisted": 1, "outside": 0, "preferred": 0, "seeds": 1}
    relevance = found["a"]["relevance"]
    assert (relevance["pages"], relevance["relevant"], relevance["unscored"]) == (2, 1, 0)
    assert [point["relevant"] for point in relevance["harvest"]] == [1, 1]
    printed = archive("compare", "first", "second", "--spec", path).out
    assert "relevant to floods" in printed
    assert "seeds captured" in printed


def test_what_cannot_be_compared(archive: Nwx) -> None:
    alone = archive("compare", "first", code=2)
    assert "name a second one, or a specification" in alone.err
    unknown = archive("compare", "first", "third", code=2)
    assert "'third' is neither a collection (there are: first, second)" in unknown.err
    archive("compare", "first", "first", code=2)
