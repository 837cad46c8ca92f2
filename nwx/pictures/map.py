"""Pictures with a position, by grid cell and country; outlines of countries."""

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
"""The number of units per degree in the path of outlines."""

_SMALLEST, _NEAR = 1.5, 0.3
_Points = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Country:
    """A country by ISO 3166 code, else by name, with rings of (latitude, longitude) pairs."""

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
        """Return whether a position is inside: the number of edges south of it is odd."""
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
    """Return the outlines as an SVG path: x is the longitude, y the negative latitude.

    Points are at least a unit apart; islands too small to be visible are left out.
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
    """Return the code, else the name, of the country of a position in degrees; "" for the sea.

    Near a coast, the nearest country counts, as outlines are coarse.
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
    """A grid cell: its number of pictures, and the mean of their positions."""

    box: Box
    pictures: int
    latitude: float
    longitude: float


@dataclass(frozen=True, slots=True)
class PictureMap:
    """Where pictures were taken; `countries` has the number of pictures and the cells by code.

    `total` counts all pictures with a position; `pictures` is the number on the map, the largest.
    """

    total: int
    pictures: int
    cells: tuple[MapCell, ...]
    countries: Mapping[str, tuple[int, tuple[MapCell, ...]]]


def picture_map(pictures: Iterable[Picture], total: int) -> PictureMap:
    """Return the map of pictures; cells and countries with most pictures come first."""
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
