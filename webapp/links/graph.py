"""The graph around a host, or of the most linked hosts: as an address asks it, and drawn."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum

from nwx.charts.fields import Spec, drawable
from nwx.charts.pictures import PictureFormat, draw_picture
from nwx.charts.treemap import DIRECTIONS, GraphRow, link_graph, sized_link_graph
from nwx.links.host_graph import Neighbourhood
from nwx.links.kept_links import LinkGraph
from webapp.explore.charts import PICTURE_WIDTH, chart_looks
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.parameters import Arguments
from webapp.site.question_limits import answer_facets

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

    def graph(self) -> LinkGraph:
        """Return the graph that is shown."""
        shown, domains = archive(), self.level is Level.DOMAINS
        return answer_facets(
            lambda: shown.link_graph(self.host, domains=domains, year=self.year, top=self.top)
        )


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


def links_asked(base: str, view: LinksView) -> parameters.Asked:
    """Return the parameters of a view at the address of a page."""
    return parameters.Asked(base, asdict(view), asdict(LinksView()))


_HERE, _AWAY, _BOTH, _OTHERS = DIRECTIONS


@dataclass(frozen=True, slots=True)
class DrawnGraph:
    """A neighbourhood with the documents that the archive has of each of its hosts."""

    around: Neighbourhood
    documents: Mapping[str, int]
    by_inlinks: bool
    spec: Spec

    def page_spec(self) -> Spec:
        """Return the specification for a page, as wide as its container."""
        return sized_link_graph(self.spec, "container")

    def picture(self, scheme: str, form: PictureFormat) -> bytes:
        """Return a picture with a painted background; raises DrawingError."""
        looks = chart_looks(scheme, background=True)
        return draw_picture(sized_link_graph(self.spec, PICTURE_WIDTH), looks, form)


def drawn_graph(found: LinkGraph, *, by_inlinks: bool) -> DrawnGraph:
    """Return what is drawn; points are as large as a host has inlinks or documents."""
    around, documents = found.around, found.documents
    title = "Hosts that link to it" if by_inlinks else "Documents"
    hosts = [
        {
            "host": drawable(one.host),
            "x": one.x,
            "y": one.y,
            "value": one.hosts_in if by_inlinks else documents.get(one.host, 0),
            "captured": "captured" if documents.get(one.host) else "never captured",
            "centre": one.host == around.centre,
        }
        for one in around.hosts
    ]
    spec = link_graph(hosts, list(_edges(around)), title)
    return DrawnGraph(around, documents, by_inlinks, spec)


def _edges(around: Neighbourhood) -> Iterator[GraphRow]:
    """Yield the lines, those of two hosts that link to each other as one."""
    links = {(source, target): count for source, target, count in around.edges}
    for (source, target), count in links.items():
        back = links.get((target, source), 0)
        if back and source > target:
            continue
        ends = around.hosts[source], around.hosts[target]
        yield {
            "source": drawable(ends[0].host),
            "target": drawable(ends[1].host),
            "links": count + back,
            "direction": _direction(around, source, target, back),
            "x": ends[0].x,
            "y": ends[0].y,
            "x2": ends[1].x,
            "y2": ends[1].y,
        }


def _direction(around: Neighbourhood, source: int, target: int, back: int) -> str:
    if not around.centre or 0 not in (source, target):
        return _OTHERS
    if back:
        return _BOTH
    return _HERE if target == 0 else _AWAY
