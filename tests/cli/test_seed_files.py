"""nwx queue export: seed lists for other crawlers."""

from pathlib import Path

from tests.cli.conftest import Nwx


def test_the_best_come_first_and_taken_ones_once(nwx: Nwx) -> None:
    for name, priority in (("low", "0.2"), ("high", "0.9"), ("middle", "0.5")):
        url = f"http://a.example/{name}"
        nwx("queue", "add", url, "--priority", priority, "--crawl", "floods")
    nwx("queue", "blacklist", "http://a.example/never", "--crawl", "floods")
    export = ("queue", "export", "--crawl", "floods")
    assert nwx(*export).out.split() == [
        "http://a.example/high",
        "http://a.example/middle",
        "http://a.example/low",
    ]
    include = nwx(*export, "--format", "heritrix-include")
    assert include.out == "F+ http://a.example/never\n"
    taken = nwx(*export, "--take", "--min-priority", "0.4")
    assert taken.out.split() == ["http://a.example/high", "http://a.example/middle"]
    assert nwx(*export, "--take", "--limit", "1").out == "http://a.example/low\n"
    assert nwx(*export).out == ""
    counts = nwx("queue", "counts", "--crawl", "floods", "--json").json
    assert (counts["done"], counts["leased"], counts["waiting"]) == (3, 0, 0)


def test_what_is_taken_keeps_to_the_pages_of_the_specification(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "floods.toml").write_text('name = "floods"\n[limits]\npages_per_host = 2\n')
    nwx("crawls", "add", tmp_path / "floods.toml")
    nwx("queue", "add", *(f"http://a.example/{n}" for n in range(4)), "--crawl", "floods")
    taken = nwx("queue", "export", "--crawl", "floods", "--take")
    assert taken.out.split() == ["http://a.example/0", "http://a.example/1"]


def test_blacklists_are_whole(nwx: Nwx, tmp_path: Path) -> None:
    urls = tmp_path / "urls.txt"
    urls.write_text("".join(f"http://a.example/{number}\n" for number in range(1_001)))
    nwx("queue", "blacklist", "--file", urls)
    include = ("queue", "export", "--format", "heritrix-include")
    assert len(nwx(*include).out.splitlines()) == 1_001
    assert len(nwx(*include, "--limit", "2").out.splitlines()) == 2


def test_there_must_be_an_archive(nwx: Nwx) -> None:
    assert nwx("queue", "export", code=1).err.startswith("nwx: no archive")
