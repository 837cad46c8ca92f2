"""URLs cut into parts."""

from nwx.steering.analysis.links.link_address import link_address


def test_an_address_is_in_lower_case() -> None:
    assert link_address("HTTP://user@Site.Example:80/A/b?C=d?e") == (
        "site.example:80",
        "a/b",
        "c=d?e",
    )
    assert link_address("http://site.example?a/b") == ("site.example", "", "a/b")
    assert link_address("http://site.example") == ("site.example", "", "")
