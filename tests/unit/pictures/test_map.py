"""Pictures by cells of a grid and by country."""

from nwx.engine.indices.picture_index import Picture
from nwx.pictures.map import WORLD, picture_map

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
