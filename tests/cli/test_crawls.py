"""nwx crawls: specifications stored with their versions, and the best links of a crawl."""

from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.settings import Settings
from tests.cli.conftest import Nwx

ONE = "# what people vote on\nname = 'votes'\nkeywords = ['vote']\n"
TWO = ONE + "entities = ['Bern']\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "one.toml").write_text(ONE)
    (tmp_path / "two.toml").write_text(TWO)
    (tmp_path / "bad.toml").write_text("name = 'a b'\nkeyword = []\nweights = {near = -1}\n")
    return tmp_path


def test_specifications_are_added_listed_and_printed(nwx: Nwx, files: Path) -> None:
    assert nwx("crawls", "add", files / "one.toml").out.startswith("votes: number 1, version ")
    assert nwx("crawls", "add", files / "one.toml").out.startswith("votes: number 1, ")
    assert nwx("crawls", "add", "-", stdin=TWO.encode()).out.startswith("votes: number 2, ")
    (listed,) = nwx("crawls", "list", "--json").json
    assert (listed["name"], listed["number"], listed["analysed"]) == ("votes", 2, [])
    assert "votes" in nwx("crawls", "list").out
    assert nwx("crawls", "show", "votes").out == TWO
    assert nwx("crawls", "show", "votes", "--version", "1").out == ONE
    shown = nwx("crawls", "show", "votes", "--format", "json").json
    assert shown == {"name": "votes", "keywords": ["vote"], "entities": [{"name": "Bern"}]}
    versions = nwx("crawls", "versions", "votes", "--json").json
    assert [one["number"] for one in versions] == [2, 1]
    assert nwx("crawls", "restore", "votes", "1").out.startswith("votes: number 3, ")
    assert nwx("crawls", "show", "votes").out == ONE
    nwx("crawls", "remove", "votes")
    assert nwx("crawls", "list", "--json").json == []
    assert "nwx crawls add" in nwx("crawls", "list").out
    assert "no crawl specification" in nwx("crawls", "remove", "votes", code=2).err


def test_all_that_is_wrong_is_told_line_by_line(nwx: Nwx, files: Path) -> None:
    place = files / "bad.toml"
    told = nwx("crawls", "add", place, code=2).err.splitlines()
    assert len(told) == 3
    assert told[0] == f"nwx: {place}: line 2, keyword: is not known here; did you mean 'keywords'?"
    checked = nwx("crawls", "check", place, files / "one.toml", code=1).out.splitlines()
    assert [f"nwx: {line}" for line in checked[:3]] == told
    assert checked[3].endswith("0 seeds, 1 keyword, 0 rules, 0 entities")
    found = nwx("crawls", "check", "--json", place, code=1).json
    assert [one["place"] for one in found["problems"]] == ["keyword", "name", "weights.near"]
    assert nwx("crawls", "check", "--json", files / "one.toml").json == {
        "valid": True,
        "problems": [],
    }


def test_the_best_links_are_listed_with_what_made_their_relevance(nwx: Nwx, files: Path) -> None:
    nwx("crawls", "add", files / "one.toml")
    assert "nwx steer votes" in nwx("crawls", "links", "votes").err
    assert "known are votes" in nwx("crawls", "links", "vote", code=2).err
    links = (
        LinkScore("http://a.test/", 0.75, "content", {"document": 0.5, "near": 1.0}, "keyword"),
        LinkScore("http://b.test/\x1b[2J", None, "calendar", {}, "blacklist host b.test"),
    )
    with open_engine(Settings(engine=str(files / "archive"))) as engine:
        page = ("votes", "v", "1", "http://page.test/", "20260102030405", 0.5)
        engine.crawl_index().put_scores([DocumentScore(*page, links=links)])
    other = nwx("crawls", "links", "votes", "--version", "w").err
    assert other == "nwx: nothing was analysed at version w; there are v\n"
    told = nwx("crawls", "links", "votes").out.splitlines()
    assert told[0].split() == ["0.750", "http://a.test/"]
    assert "content; document 0.50, near 1.00; keyword; on http://page.test/" in told[1]
    assert told[2].split()[0] == "blacklisted"
    assert "\x1b" not in "".join(told)
    (first,) = nwx("crawls", "links", "votes", "--limit", "1", "--json").json
    assert first["parts"] == {"document": 0.5, "near": 1.0}
    (other,) = nwx("crawls", "links", "votes", "--host", "B.test.", "--json").json
    assert other["relevance"] is None
    assert nwx("crawls", "links", "votes", "--host", "c.test", "--json").json == []
