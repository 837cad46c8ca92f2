"""Unit tests of what is asked for of playback scores."""

import pytest

from nwx.engine.quality.quality_index import QualityFilter
from nwx.errors import UsageError
from nwx.quality.scores.score_filter import of_site, read_month


@pytest.mark.parametrize(
    ("site", "found"),
    [
        ("", QualityFilter()),
        ("example.org", QualityFilter(domain="example.org")),
        ("WWW.example.org", QualityFilter(host="www.example.org")),
        ("bbc.co.uk", QualityFilter(domain="bbc.co.uk")),
        ("localhost", QualityFilter(domain="localhost")),
        ("127.0.0.1", QualityFilter(domain="127.0.0.1")),
        ("Bücher.example.", QualityFilter(domain="xn--bcher-kva.example")),
        ("www.bücher.example", QualityFilter(host="www.xn--bcher-kva.example")),
        ("...", QualityFilter(host="...")),
    ],
)
def test_a_domain_has_all_its_hosts(site: str, found: QualityFilter) -> None:
    assert of_site(site) == found


def test_a_host_is_named_alone_or_within_a_domain() -> None:
    assert of_site("", "WWW.Example.org") == QualityFilter(host="www.example.org")
    found = of_site("example.org", "www.example.org")
    assert found == QualityFilter(host="www.example.org", domain="example.org")


def test_months_are_read() -> None:
    assert (read_month(""), read_month("2010-07"), read_month("201012")) == ("", "201007", "201012")
    for text in ("2010", "2010-13", "2010-07-01", "x" * 1_000):
        with pytest.raises(UsageError, match="is no month"):
            read_month(text)
