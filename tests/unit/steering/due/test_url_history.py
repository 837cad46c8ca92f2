"""Histories of URLs from rows of captures."""

from nwx.cdx.rows import CdxRow
from nwx.steering.due.change_rate import ChangeObservation
from nwx.steering.due.url_history import MOST_OBSERVATIONS, UrlHistories, UrlHistory


def row(
    timestamp: str,
    digest: str = "A",
    status: str = "200",
    mime: str = "text/html",
    key: str = "example,a)/",
    url: str = "http://a.example/",
) -> CdxRow:
    return CdxRow(key, timestamp, url, mime, status, digest, "-", "-", "1", "0", "f")


def read(*rows: CdxRow) -> list[UrlHistory]:
    return list(UrlHistories().read(rows))


def test_changes_between_captures() -> None:
    (found,) = read(
        row("20260101000000"),
        row("20260103000000", mime="warc/revisit", status="-"),
        row("20260103120000", "B"),
        row("20260104120000", "A"),
    )
    assert list(found.observations) == [
        ChangeObservation(2.0, False),
        ChangeObservation(0.5, True),
        ChangeObservation(1.0, True),
    ]
    assert (found.captures, found.changes) == (4, 2)
    assert found.last - 1_767_225_600 == 3.5 * 86_400


def test_failures_are_captures_that_tell_nothing_of_changes() -> None:
    (found,) = read(
        row("20260101000000"),
        row("20260102000000", "X", "503"),
        row("20260103000000", "-"),
        row("20260105000000"),
        row("20260106000000", "Y", "404"),
    )
    assert list(found.observations) == [ChangeObservation(4.0, False)]
    assert found.captures == 5
    assert found.last - 1_767_225_600 == 5 * 86_400


def test_captures_of_the_same_second_are_one_observation() -> None:
    (found,) = read(*[row("20260101000000", digest) for digest in "ABC"], row("20260102000000"))
    assert list(found.observations) == [ChangeObservation(1.0, True)]


def test_urls_one_after_the_other() -> None:
    histories = UrlHistories()
    found = list(
        histories.read(
            [
                row("20260101000000", key="dns:a", url="dns:a.example"),
                row("20260101000000"),
                row("20260102000000", url="https://a.example/"),
                row("20260101000000", key="example,a)/?__wb_method=post"),
                row("20269901000000", key="example,b)/", url="http://b.example/"),
                row("20260101000000", key="example,c)/", url="http://c.example/"),
            ]
        )
    )
    assert [(one.url, one.captures) for one in found] == [
        ("https://a.example/", 2),
        ("http://c.example/", 1),
    ]
    assert (histories.captures, histories.unreadable) == (6, 1)


def test_the_memory_of_a_url_is_bounded() -> None:
    days = [f"{2000 + n // 336}{n // 28 % 12 + 1:02}{n % 28 + 1:02}000000" for n in range(3_000)]
    (found,) = read(*[row(day, str(n)) for n, day in enumerate(days)])
    assert len(found.observations) == MOST_OBSERVATIONS
    assert found.captures == 3_000
