"""The pictures that have a position, by the cells of a grid and by country."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nwx.engine.indices.picture_index import Box, Picture
from nwx.pictures.world import country_at

CELL_DEGREES = 5
WORLD = Box(-180, -90, 180, 90)
_BELOW_EDGE = 0.000001  # positions have six digits: none is in two cells


@dataclass(frozen=True, slots=True)
class MapCell:
    """The pictures of a cell: how many, and the mean of their positions."""

    box: Box
    pictures: int
    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class PictureMap:
    """Where pictures were taken; `countries` has the pictures and cells of each by its code.

    `total` counts all pictures that have a position, of which the largest are on the map.
    """

    total: int
    pictures: int
    cells: tuple[MapCell, ...]
    countries: Mapping[str, tuple[int, tuple[MapCell, ...]]]


def picture_map(pictures: Iterable[Picture], total: int) -> PictureMap:
    """Return the map of pictures, those with most in a cell or country first."""
    found: defaultdict[tuple[int, int], list[tuple[float, float]]] = defaultdict(list)
    for one in pictures:
        if one.latitude is not None and one.longitude is not None:
            place = (
                math.floor(one.latitude / CELL_DEGREES),
                math.floor(one.longitude / CELL_DEGREES),
            )
            found[place].append((one.latitude, one.longitude))
    cells = {place: _cell(*place, positions) for place, positions in found.items()}
    counts: defaultdict[str, dict[tuple[int, int], int]] = defaultdict(dict)
    for place, positions in found.items():
        for country in (country_at(*one) for one in positions):
            counts[country][place] = counts[country].get(place, 0) + 1
    ordered = sorted(counts.items(), key=lambda one: (-sum(one[1].values()), one[0]))
    countries = {
        name: (sum(places.values()), _by_size(cells[place] for place in places))
        for name, places in ordered
    }
    return PictureMap(total, sum(map(len, found.values())), _by_size(cells.values()), countries)


def _cell(row: int, column: int, positions: list[tuple[float, float]]) -> MapCell:
    west, south = column * CELL_DEGREES, row * CELL_DEGREES
    size = CELL_DEGREES - _BELOW_EDGE
    box = Box(west, south, min(west + size, 180), min(south + size, 90))
    latitude, longitude = (sum(one) / len(positions) for one in zip(*positions, strict=True))
    return MapCell(box, len(positions), latitude, longitude)


def _by_size(cells: Iterable[MapCell]) -> tuple[MapCell, ...]:
    return tuple(sorted(cells, key=lambda one: (-one.pictures, one.box)))
