from pathlib import Path

from nwx.steering.adapters.crawl_log import LogPlace, read_crawl_log

PAGE = (
    "2026-11-22T05:15:43.829Z   200       1708 http://a.example/ LL http://x.example/ text/html"
    " #022 20261122051543780+2 sha1:NNCVZO4JP5RGHVEUDCZ7OB2ZM2YPGWWN - 2t\n"
)
SEED = (
    "2026-11-22T05:15:44.000Z  -404          - http://b.example/?q=%20 - - unknown #001 - - - -\n"
)
NAME = (
    "2026-11-22T05:15:44.000Z     1         50 dns:a.example P http://a.example/ text/dns - - -\n"
)


def write(folder: Path, text: str, name: str = "crawl.log") -> None:
    with (folder / name).open("a", encoding="utf-8") as log:
        log.write(text)


def test_pages_are_read_with_their_hops_and_status(tmp_path: Path) -> None:
    write(tmp_path, PAGE + NAME + "nonsense\n\n" + SEED)
    found, _ = read_crawl_log(tmp_path, LogPlace())
    assert [(fetch.url, fetch.hops, fetch.status) for fetch in found] == [
        ("http://a.example/", "LL", 200),
        ("http://b.example/?q=%20", "", -404),
    ]


def test_only_what_was_added_is_read_and_a_line_only_when_it_is_whole(tmp_path: Path) -> None:
    write(tmp_path, PAGE + SEED[:30])
    found, place = read_crawl_log(tmp_path, LogPlace())
    assert len(found) == 1
    assert read_crawl_log(tmp_path, place) == ([], place)
    write(tmp_path, SEED[30:])
    found, place = read_crawl_log(tmp_path, place)
    assert [fetch.url for fetch in found] == ["http://b.example/?q=%20"]


def test_the_rest_of_a_log_that_was_renamed_comes_before_the_new_one(tmp_path: Path) -> None:
    write(tmp_path, PAGE)
    _, place = read_crawl_log(tmp_path, LogPlace())
    write(tmp_path, SEED)
    (tmp_path / "crawl.log").rename(tmp_path / "crawl.log.00001.cp-1")
    write(tmp_path, PAGE)
    first, place = read_crawl_log(tmp_path, place)
    second, place = read_crawl_log(tmp_path, place)
    assert [fetch.status for fetch in first + second] == [-404, 200]
    assert read_crawl_log(tmp_path, place)[0] == []


def test_logs_of_several_checkpoints_are_read_in_their_order(tmp_path: Path) -> None:
    for name, status in (("crawl.log.cp00001-1", 1), ("crawl.log.cp00002-2", 2), ("crawl.log", 3)):
        write(tmp_path, PAGE.replace(" 200 ", f" {status} "), name)
    statuses, place = [], LogPlace()
    for _ in range(4):
        found, place = read_crawl_log(tmp_path, place)
        statuses += [fetch.status for fetch in found]
    assert statuses == [1, 2, 3]


def test_there_is_nothing_before_there_is_a_log(tmp_path: Path) -> None:
    assert read_crawl_log(tmp_path / "logs", LogPlace()) == ([], LogPlace())
