"""nwx steer --simulate."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.warcs import Page, write_warc

SPECIFICATION = """
name = "floods"
seeds = ["http://a.test/", "http://gone.test/"]
keywords = ["flood", "dyke"]
"""


def _page(path: str, text: str, *links: str) -> Page:
    anchors = "".join(f"<p><a href={link}>{words}</a>" for link, _, words in map(_parts, links))
    body = f"<html lang=en><title>{path}</title><p>{text}{anchors}".encode()
    return Page(f"http://a.test{path}", "20100101000000", body)


def _parts(link: str) -> tuple[str, str, str]:
    return link.partition("|")


WELCOME = " ".join(f"word{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(300))
PAGES = [
    _page("/", WELCOME, "/sport|Matches", "/garden|Roses", "/moved|The flood", "/away|Away"),
    _page("/sport", "A match.", "/sport2|More matches"),
    _page("/sport2", "Another match."),
    _page("/garden", "A rose.", "/garden2|More roses"),
    _page("/garden2", "Another rose."),
    Page("http://a.test/moved", "20100101000000", b"", status="301 Moved\r\nLocation: /flood"),
    _page("/flood", "The flood came over the dyke.", "/dyke|The dyke"),
    _page("/dyke", "A dyke keeps the flood from us."),
]


@pytest.fixture
def archive(nwx: Nwx, tmp_path: Path) -> Nwx:
    nwx("import", write_warc(tmp_path / "1.warc.gz", PAGES), "--collection", "made")
    (tmp_path / "floods.toml").write_text(SPECIFICATION, encoding="utf-8")
    return nwx


def test_crawls_of_a_collection(archive: Nwx, tmp_path: Path) -> None:
    path, chart = tmp_path / "floods.toml", tmp_path / "harvest.svg"
    ran = archive(*("steer", path, "--simulate", "made", "--budget", 3, "--json", "--chart", chart))
    found = ran.json
    assert (found["budget"], found["relevant_total"]) == (3, 2)
    assert found["breadth_first"]["curve"] == [0, 0, 0]
    assert found["steered"] == {
        "fetched": 3,
        "relevant": 2,
        "curve": [0, 1, 2],
        "harvest_rate": 0.6667,
    }
    assert found["oracle"]["relevant"] == 2
    assert found["missing_seeds"] == ["http://gone.test/"]
    assert "Breadth first" in chart.read_text(encoding="utf-8")
    printed = archive("steer", path, "--simulate", "made", "--quiet").out
    assert printed == ""
    ran = archive("steer", path, "--simulate", "made")
    assert "2 of 7 pages of made are relevant" in ran.out
    assert "the seed http://gone.test/ is not in made" in ran.err
    assert archive("crawls", "list", "--json").json == []


def test_judgements_and_spam_hosts_count_before_scores(archive: Nwx, tmp_path: Path) -> None:
    specification, judged, spam = (tmp_path / name for name in ("floods.toml", "judged", "spam"))
    judged.write_text("# by hand\nhttp://a.test/garden 1\nhttp://a.test/dyke 0\n")
    asked = ("steer", specification, "--simulate", "made", "--budget", 9)
    found = archive(*asked, "--judged", judged, "--json").json
    assert found["judged"] == {"pages": 2, "relevant": 1, "found": 0, "mistaken": 1}
    assert (found["relevant_total"], found["breadth_first"]["relevant"]) == (2, 2)
    assert "precision 0%" in archive(*asked, "--judged", judged).out
    spam.write_text("127.0.0.1 a.test:8080\n")
    assert archive(*asked, "--spam-hosts", spam, "--json").json["relevant_total"] == 2
    spam.write_text("a.test\n")
    assert archive(*asked, "--spam-hosts", spam, "--json").json["relevant_total"] == 0
    judged.write_text("http://a.test/ yes\n")
    assert "line 1: a judgement is a URL" in archive(*asked, "--judged", judged, code=1).err


def test_examples_stand_for_keywords(archive: Nwx, tmp_path: Path) -> None:
    path, example = tmp_path / "like.toml", tmp_path / "example.txt"
    path.write_text('# mine\nname = "like"\nseeds = ["http://a.test/"]\nlike = ["example.txt"]\n')
    example.write_text("The dykes broke, and then the flood was here.")
    asked = ("steer", path, "--like", "http://a.test/flood", "--like", example)
    path.write_text(path.read_text().replace("example.txt", str(example)))
    found = archive(*asked, "--simulate", "made", "--budget", 3, "--json").json
    assert found["steered"]["curve"] == [0, 1, 2]
    archive("crawls", "add", path)
    assert archive("crawls", "show", "like").out.startswith(path.read_text())
    added = archive("crawls", "show", "like").out
    assert 'text = "dykes"' in added
    assert 'text = "broke"' in added
    archive("steer", path)
    assert archive("crawls", "list", "--json").json[0]["number"] == 1
    archive(*asked)
    again = archive("crawls", "show", "like").out
    assert "http://a.test/flood" in again
    assert 'text = "flood"' in again
    assert 'text = "broke"' not in again
    none = archive("steer", path, "--like", "http://a.test/none", code=2)
    assert "like[2]: http://a.test/none is neither a captured page" in none.err


def test_options_that_make_no_sense(archive: Nwx, tmp_path: Path) -> None:
    path = tmp_path / "floods.toml"
    assert "--budget needs --simulate" in archive("steer", path, "--budget", 9, code=2).err
    odd = archive("steer", path, "--simulate", "made", "--chart", "a.gif", code=2)
    assert "must end in .svg or .png" in odd.err
    unknown = archive("steer", path, "--simulate", "other", code=2)
    assert "the collection other has no page" in unknown.err
