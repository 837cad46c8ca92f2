"""How far the resources of a page in playback lie from it in time."""

from dataclasses import dataclass
from typing import NamedTuple

from nwx.errors import TimestampError
from nwx.quality.browser.page_render import PageRender
from nwx.quality.measures.resource_counts import FIRST_BAD
from nwx.values.timestamps import parse_timestamp


class FarResource(NamedTuple):
    """A resource, and how long after the page it was captured, in seconds; less than 0: before."""

    url: str
    status: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Distances:
    """The worst and the mean distance, in seconds, None without resources; and those too far."""

    worst: int | None = None
    mean: int | None = None
    far: tuple[FarResource, ...] = ()


def distances(render: PageRender, far_seconds: float) -> Distances:
    """Return how far the resources that came lie from the time that the page was asked for at.

    The captures that pages redirect to count, and the page itself where
    that of another time was played.
    """
    found = {
        one.url: FarResource(one.url, one.status, seconds)
        for one in render.resources
        if 0 < one.status < FIRST_BAD
        and (seconds := _seconds_after(one.timestamp, render.task.timestamp)) is not None
    }
    if not found:
        return Distances()
    apart = [abs(one.seconds) for one in found.values()]
    far = tuple(one for one in found.values() if abs(one.seconds) > far_seconds)
    return Distances(round(max(apart)), round(sum(apart) / len(apart)), far)


def _seconds_after(timestamp: str, page: str) -> float | None:
    if not timestamp or not page:
        return None
    try:
        return (parse_timestamp(timestamp) - parse_timestamp(page)).total_seconds()
    except TimestampError:
        return None
