"""Pictures that have a position, by cells of a grid and by country; outlines of countries."""

import gzip
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nwx.engine.indices.picture_index import Box, Picture

UNITS = 2
"""How many units of a path of outlines a degree has."""

_SMALLEST, _NEAR = 1.5, 0.3
_Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Country:
    """A country by its code of ISO 3166, else its name; rings of pairs of latitude, longitude."""

    code: str
    rings: tuple[_Points, ...]
    low: _Points
    high: _Points

    def distance(self, point: _Points) -> float:
        """Return the degrees to the nearest corner of an outline, infinity for far countries."""
        if (point < self.low - _NEAR).any() or (point > self.high + _NEAR).any():
            return math.inf
        return min(float(np.hypot(*(ring - point).T).min()) for ring in self.rings)

    def has(self, point: _Points) -> bool:
        """Return whether a position is inside, by how many edges are south of it."""
        if (point < self.low).any() or (point > self.high).any():
            return False
        return sum(_edges_below(ring, point) for ring in self.rings) % 2 == 1


def _edges_below(ring: _Points, point: _Points) -> int:
    (north, east), (other_north, other_east) = ring.T, np.roll(ring, -1, axis=0).T
    crossing = (east > point[1]) != (other_east > point[1])
    north, east = north[crossing], east[crossing]
    share = (point[1] - east) / (other_east[crossing] - east)
    return int((north + share * (other_north[crossing] - north) < point[0]).sum())


@cache
def _countries() -> list[_Country]:
    names = _data("metadata")
    found = []
    for key, shape in _data("polygons").items():
        rings = shape.get("exteriors") or [shape["exterior"]]
        whole = tuple(np.array(ring) for ring in (*rings, *shape["holes"]) if len(ring) > 2)
        every = np.concatenate(whole)
        name = names[key]["iso2" if names[key]["iso2"].isalpha() else "name"]
        found.append(_Country(name, whole, every.min(axis=0), every.max(axis=0)))
    return found


def _data(name: str) -> Any:
    place = files("geo_intel_offline") / "data" / f"{name}.json.gz"
    return json.loads(gzip.decompress(place.read_bytes()))


@cache
def outlines() -> str:
    """Return the outlines as the path of an SVG: x is the longitude, y the negative latitude.

    Points are a unit apart at least; islands that could not be seen are left out.
    """
    paths = []
    for ring in (ring for country in _countries() for ring in country.rings):
        if np.ptp(ring, axis=0).max() >= _SMALLEST:
            steps = np.rint(ring * UNITS).astype(int)
            moves = np.diff(steps, axis=0, prepend=[[0, 0]])
            moves = moves[(moves != 0).any(axis=1)].tolist()
            (north, east), *others = moves
            line = " ".join(f"{right} {-up}" for up, right in others)
            paths.append(f"M{east} {-north}l{line}z")
    return "".join(paths).replace(" -", "-")


def country_at(latitude: float, longitude: float) -> str:
    """Return the code of the country of a position in degrees, else its name; "" for the sea.

    Near a coast it is the nearest country: outlines are coarse.
    """
    point = np.array((latitude, longitude))
    inside = next((one.code for one in _countries() if one.has(point)), None)
    if inside is not None:
        return inside
    near = [(one.distance(point), one.code) for one in _countries()]
    return min((one for one in near if one[0] < _NEAR), default=(0.0, ""))[1]


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
