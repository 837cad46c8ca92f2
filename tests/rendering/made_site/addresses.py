"""The hosts of the synthetic web, and the paths of resources that belong to a single page."""

import random
from typing import NamedTuple

SITES = ("www.gazette.example", "shop.lamps.example", "forum.tides.example", "museum.quay.example")
SHARED = "static.cdn.example"
"""Style sheets, scripts, images and fonts shared by many pages."""

ADS, API, GONE = "ads.tracker.example", "api.weather.example", "gone.example"
"""Advertisements; data for scripts; an unreachable host."""

HOSTS = frozenset((*SITES, SHARED, ADS, API))
LAYOUTS = ("article", "gallery", "table", "thread", "frames", "application")
FORMATS = ("png", "jpg", "webp", "gif", "svg")
FEATURES = (
    "background",
    "beacons",
    "cache_buster",
    "canvas",
    "carousel",
    "clock",
    "component",
    "consent",
    "cookie",
    "data",
    "dead_host",
    "dead_image",
    "dead_script",
    "font",
    "frame",
    "imported_style",
    "jsonp",
    "late",
    "lazy",
    "module",
    "observer",
    "post",
    "random_banner",
    "random_text",
    "redirect",
    "served_at",
    "srcdoc",
    "srcset",
    "weather",
    "written",
)
"""Optional features of a page, implemented in the modules of markup and scripts."""

MOST_FEATURES = 9


class SitePage(NamedTuple):
    """A page: its number, site, layout, features, and number of images."""

    number: int
    host: str
    layout: str
    theme: int
    features: frozenset[str]
    images: int

    @property
    def path(self) -> str:
        """The path of the page."""
        return f"/{self.layout}/{self.number}.html"

    @property
    def url(self) -> str:
        """The URL of the page."""
        return f"http://{self.host}{self.path}"

    @property
    def own(self) -> str:
        """The path prefix of resources that no other page uses."""
        return f"/own/{self.number}/"

    def image(self, number: int) -> str:
        """Return the path of one of the page's images."""
        return f"{self.own}image-{number}.{FORMATS[(self.number + number) % len(FORMATS)]}"


def site_pages(count: int = 240, seed: int = 13) -> list[SitePage]:
    """Return `count` pages; a smaller count gives the first ones of a larger count."""
    return [_page(number, random.Random(f"{seed}:{number}")) for number in range(count)]


def _page(number: int, chance: random.Random) -> SitePage:
    # Each feature occurs at regular intervals, additional ones at random.
    features = {FEATURES[number % len(FEATURES)]}
    features.update(chance.sample(FEATURES, chance.randrange(1, MOST_FEATURES)))
    return SitePage(
        number,
        SITES[number % len(SITES)],
        LAYOUTS[number % len(LAYOUTS)],
        chance.randrange(6),
        frozenset(features),
        chance.randrange(3, 8),
    )


def page_of_resource(url: str) -> int | None:
    """Return the number of the only page that uses a resource, None if several may."""
    _, found, rest = url.partition("/own/")
    number = rest.partition("/")[0]
    return int(number) if found and number.isdigit() else None
