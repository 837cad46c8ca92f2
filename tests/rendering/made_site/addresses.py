"""The hosts of the made web, and where a page has what is its own."""

import random
from typing import NamedTuple

SITES = ("www.gazette.example", "shop.lamps.example", "forum.tides.example", "museum.quay.example")
SHARED = "static.cdn.example"
"""Style sheets, scripts, images and fonts that many pages share."""

ADS, API, GONE = "ads.tracker.example", "api.weather.example", "gone.example"
"""Advertisements; data for scripts; a host that cannot be reached."""

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
"""What a page may have; a module of markup says how it looks."""

MOST_FEATURES = 9


class SitePage(NamedTuple):
    """A page: its number among all, its site and layout, what it has, and how many images."""

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
        """The path below which is what no other page uses."""
        return f"/own/{self.number}/"

    def image(self, number: int) -> str:
        """Return the path of one of its images."""
        return f"{self.own}image-{number}.{FORMATS[(self.number + number) % len(FORMATS)]}"


def site_pages(count: int = 240, seed: int = 13) -> list[SitePage]:
    """Return so many pages; those of fewer pages are the first of those of more."""
    return [_page(number, random.Random(f"{seed}:{number}")) for number in range(count)]


def _page(number: int, chance: random.Random) -> SitePage:
    # Each feature comes once in so many pages, the others by chance.
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
    """Return the number of the page that a resource belongs to alone, None if there is none."""
    _, found, rest = url.partition("/own/")
    number = rest.partition("/")[0]
    return int(number) if found and number.isdigit() else None
