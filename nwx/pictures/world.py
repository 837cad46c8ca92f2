"""Outlines of the countries for a map, and the country of a position."""

import gzip
import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
