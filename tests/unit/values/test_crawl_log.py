import pytest

from nwx.values.crawl_log import LoggedFetch, is_unanswered, logged_fetch

PAGE = (
    "2026-11-22T05:15:43.829Z   200       1708 http://a.example/ LL http://x.example/ text/html"
    " #022 20261122051542780+2 sha1:NNCVZO4JP5RGHVEUDCZ7OB2ZM2YPGWWN - 2t,warcRevisit:digest {}"
)


def test_a_line_is_read() -> None:
    assert logged_fetch(PAGE) == LoggedFetch(
        "http://a.example/",
        "LL",
        200,
        "20261122051542",
        "20261122051543",
        1708,
        "text/html",
        2,
        "sha1:NNCVZO4JP5RGHVEUDCZ7OB2ZM2YPGWWN",
        True,
    )


def test_nothing_is_what_a_dash_stands_for() -> None:
    line = "2026-11-22T05:15:44.000Z  -404          - http://b.example/?q=%20 - - - #001 - - - -"
    time = "20261122051544"
    assert logged_fetch(line) == LoggedFetch("http://b.example/?q=%20", "", -404, time, time)


def test_lines_of_heritrix_1() -> None:
    found = logged_fetch("20080102030405678 1 50 dns:a.example P http://a.example/ text/dns")
    assert found and found.timestamp == "20080102030405" and found.mime == "text/dns"


def test_a_line_cut_behind_the_url_is_one() -> None:
    found = logged_fetch(PAGE[:80])
    assert found and found.url == "http://a.example/" and found.mime == "" and not found.digest


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        PAGE[30:],
        PAGE[:40],
        PAGE.replace("-11-", "-13-"),
        PAGE.replace("11-22T", "02-30T"),
        PAGE.replace("05:15:43", "05:15:73"),
        PAGE.replace("05:15:43", "05:15:"),
        PAGE.replace(" 200 ", " 2x0 "),
        PAGE.replace(" 200 ", " ٢00 "),
        PAGE.replace(" 200 ", " 999999999999 "),
        PAGE.replace("http://a.example/ ", "a.example "),
        "\0" * 5_000,
    ],
)
def test_what_is_no_line(line: str) -> None:
    assert logged_fetch(line) is None


def test_a_begin_that_makes_no_sense_is_that_of_the_line() -> None:
    for begin in ("20261322051543780+2", "x+2", "20261122051542780"):
        found = logged_fetch(PAGE.replace("20261122051542780+2", begin))
        assert found and found.took_ms is None


def test_which_statuses_are_no_answer() -> None:
    assert all(map(is_unanswered, (-1, -2, -3, -4, -8, -404, -61)))
    assert not any(map(is_unanswered, (200, 404, 503, 1, 0, -9998, -5001, -4001)))
