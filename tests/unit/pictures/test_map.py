"""Pictures grouped by grid cell and by country."""

from nwx.engine.indices.picture_index import Picture
from nwx.pictures.map import WORLD, country_at, outlines, picture_map

PLACES = [(48.85, 2.35), (45.0, 4.9999), (45.0, 5.0), (-90.0, -180.0), (90.0, 180.0), (None, None)]


def _picture(number: int, latitude: float | None, longitude: float | None) -> Picture:
    return Picture(
        f"{number}", "", "", "", "", "", "", "", "", 1, 1, latitude=latitude, longitude=longitude
    )


def test_each_picture_is_in_one_cell_and_country() -> None:
    found = picture_map((_picture(at, *place) for at, place in enumerate(PLACES)), 9)
    assert (found.total, found.pictures) == (9, 5)
    assert [one.pictures for one in found.cells] == [2, 1, 1, 1]
    for latitude, longitude in PLACES[:-1]:
        if latitude is not None and longitude is not None:
            boxes = [one.box for one in found.cells]
            inside = [
                box
                for box in boxes
                if box.south <= latitude <= box.north and box.west <= longitude <= box.east
            ]
            assert len(inside) == 1
    assert all(one.box.west >= WORLD.west and one.box.north <= WORLD.north for one in found.cells)
    assert found.countries["France"][0] == 3
    assert sum(count for count, _ in found.countries.values()) == found.pictures


def test_countries_have_outlines() -> None:
    places = {"HU": (47.5, 19.0), "ME": (42.4, 19.2), "MM": (16.8, 96.1), "PS": (31.9, 35.2)}
    assert {code: country_at(*place) for code, place in places.items()} == {
        code: code for code in places
    }
    assert country_at(0, -30) == ""
    assert 50_000 < len(outlines()) < 200_000
