"""Outlines of countries."""

from nwx.pictures.world import country_at, outlines


def test_countries_have_outlines() -> None:
    places = {"HU": (47.5, 19.0), "ME": (42.4, 19.2), "MM": (16.8, 96.1), "PS": (31.9, 35.2)}
    assert {code: country_at(*place) for code, place in places.items()} == {
        code: code for code in places
    }
    assert country_at(0, -30) == ""
    assert 50_000 < len(outlines()) < 200_000
