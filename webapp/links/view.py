"""What the page of links shows, as an address asks it, and the addresses that lead on from it."""

from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlencode

from webapp.site import parameters
from webapp.site.parameters import Arguments

GRAPH_TOPS = (20, 40, 80)
_DEFAULT_TOP = GRAPH_TOPS[1]


class Level(StrEnum):
    """What the points of the graph are."""

    HOSTS = "hosts"
    DOMAINS = "domains"


class PointSize(StrEnum):
    """What the size of a point tells."""

    INLINKS = "inlinks"
    DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class LinksView:
    """What is shown: a host or domain in the middle ("" is none), of a year (0 is all)."""

    host: str = ""
    level: Level = Level.HOSTS
    size: PointSize = PointSize.INLINKS
    year: int = 0
    top: int = _DEFAULT_TOP


def read_links_view(arguments: Arguments) -> LinksView:
    """Return the view of an address; raises UsageError for what makes no sense."""
    host = parameters.text(arguments, "host", 300).lower()
    if "//" in host:
        host = host.partition("//")[2]
    return LinksView(
        host=host.partition("/")[0].removeprefix("www."),
        level=parameters.choice(arguments, "level", Level.HOSTS),
        size=parameters.choice(arguments, "size", PointSize.INLINKS),
        year=parameters.number_parameter(arguments, "year", 0, 0, 9999),
        top=parameters.one_of(arguments, "top", _DEFAULT_TOP, GRAPH_TOPS),
    )


@dataclass(frozen=True, slots=True)
class LinksAddresses:
    """Where links lead: the same view with one thing changed."""

    base: str
    view: LinksView

    def pairs(self, view: LinksView) -> list[tuple[str, str]]:
        """Return the parameters of a view that are not the usual ones."""
        usual = LinksView()
        return [
            (name, str(getattr(view, name)))
            for name in ("host", "level", "size", "year", "top")
            if getattr(view, name) != getattr(usual, name)
        ]

    def of(self, view: LinksView, base: str = "") -> str:
        """Return the address of a view."""
        encoded = urlencode(self.pairs(view))
        return f"{base or self.base}?{encoded}" if encoded else base or self.base

    def here(self, base: str = "") -> str:
        """Return the address of the view itself, on another page."""
        return self.of(self.view, base)

    def host(self, host: str) -> str:
        """Return the address with another host in the middle, or none."""
        return self.of(replace(self.view, host=host))

    def level(self, level: Level) -> str:
        """Return the address of the graph of hosts, or of domains."""
        return self.of(replace(self.view, level=level))

    def size(self, size: PointSize) -> str:
        """Return the address with points of another size."""
        return self.of(replace(self.view, size=size))

    def year(self, year: int) -> str:
        """Return the address of a year, 0 for all."""
        return self.of(replace(self.view, year=year))

    def top(self, top: int) -> str:
        """Return the address with more or fewer hosts."""
        return self.of(replace(self.view, top=top))
