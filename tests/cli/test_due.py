"""nwx due: lists, JSON, the queue, and wrong use."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx

LINE = "example,{0})/ {1}000000 http://{0}.example/ text/html 200 {2} - - 9 {3} x.warc.gz\n"
CDX = "".join(
    LINE.format(host, day, digest, n)
    for n, (host, day, digest) in enumerate(
        [
            *[("a", f"201401{day:02}", "M5ORM4XQ5QCEZEDRNZRGSWXPCOGUVASI") for day in range(1, 9)],
            ("b", "20140120", "M5ORM4XQ5QCEZEDRNZRGSWXPCOGUVASI"),
            ("c", "20140131", "M5ORM4XQ5QCEZEDRNZRGSWXPCOGUVASI"),
        ]
    )
)
AT = ("--at", "2014-02-01")


@pytest.fixture
def loaded(nwx: Nwx, tmp_path: Path) -> Nwx:
    (tmp_path / "some.cdx").write_text(CDX)
    nwx("cdx-load", tmp_path / "some.cdx", "--collection", "web")
    return nwx


def test_a_list(loaded: Nwx) -> None:
    ran = loaded("due", "--since", "7d", *AT)
    assert ran.out.splitlines() == [
        "    3.4x      7.0d  2014-01-08  http://a.example/",
        "    1.7x      7.0d  2014-01-20  http://b.example/",
    ]
    assert ran.err == "2 of 3 URLs due\n"
    assert loaded("due", "--since", "2014-01-25", *AT, "--quiet").err == ""
    assert len(loaded("due", "--since", "1w", "--limit", "1", *AT).out.splitlines()) == 1
    assert loaded("due", "--since", "1w", "--collection", "none", *AT).out == ""


def test_json(loaded: Nwx) -> None:
    found = loaded("due", *AT, "--json").json_lines
    # Unchanged for seven days: due after 7 / log 2 days.
    assert [(one["url"], one["interval_days"], one["basis"]) for one in found] == [
        ("http://a.example/", 10.099, "estimated")
    ]
    assert (found[0]["last"], found[0]["captures"], found[0]["changes"]) == ("20140108000000", 8, 0)
    assert loaded("due", *AT, "--longest", "5", "--json").json_lines[0]["interval_days"] == 5


def test_into_the_queue(loaded: Nwx, tmp_path: Path) -> None:
    loaded("due", "--since", "7d", *AT, "--queue")
    queued = loaded("queue", "list", "--json").json_lines
    assert [(one["url"], one["priority"]) for one in queued] == [
        ("http://a.example/", 0.8542),
        ("http://b.example/", 0.7083),
    ]
    (tmp_path / "news.toml").write_text(
        'name = "news"\nqueue = "http://127.0.0.1:9/"\n[[intervals]]\ndays = 10\n'
        '[[rules]]\naction = "blacklist"\nhosts = ["a.example"]\n'
    )
    ran = loaded("due", "--spec", tmp_path / "news.toml", *AT, "--queue", "--json")
    assert [one["url"] for one in ran.json_lines] == ["http://b.example/"]
    assert "nwx queue deliver" in ran.err
    assert loaded("queue", "counts", "--json").json["outbox"] == {"http://127.0.0.1:9/": 1}


def test_wrong_use(loaded: Nwx) -> None:
    for arguments, message in (
        (("--since", "soon"), "30d"),
        (("--since", "2014-13-01"), "since also takes 30d"),
        (("--spec", "unknown"), "unknown"),
        (("--shortest", "9", "--longest", "3"), "at most 3"),
    ):
        assert message in loaded("due", *arguments, code=2).err
    assert "30d" not in loaded("due", "--at", "2014-13-01", code=2).err


def test_urls_that_no_queue_takes_are_told_and_left_out(nwx: Nwx, tmp_path: Path) -> None:
    long = CDX.replace("http://a.example/", "http://a.example/" + "x" * 8_000)
    (tmp_path / "some.cdx").write_text(long)
    nwx("cdx-load", tmp_path / "some.cdx", "--collection", "web")
    ran = nwx("due", "--since", "7d", *AT, "--queue")
    assert "1 URL that cannot be queued was left out" in ran.err
    assert [one["url"] for one in nwx("queue", "list", "--json").json_lines] == [
        "http://b.example/"
    ]
