"""The page of hosts: the captures of each by number, time and outcome."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import lazy_gettext

from nwx.answers.count_tables import ArchivedHost, HostOrder, HostTable, ValueCount
from nwx.values.records import csv_lines
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import NOT_FOUND, Operation, Parameter, file_parameter
from webapp.site.parameters import Arguments, Asked
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of

blueprint = Blueprint("hosts", __name__, url_prefix="/hosts")

HOSTS_A_PAGE = 50
VALUES_SHOWN = 3
_FIRST_YEAR, _LAST_YEAR = 1990, 2100
_WIDTH = 120
_HOST_COLUMNS = {
    HostOrder.HOST: lazy_gettext("Host"),
    HostOrder.CAPTURES: lazy_gettext("Captures"),
    HostOrder.DOCUMENTS: lazy_gettext("Documents"),
    HostOrder.BYTES: lazy_gettext("Bytes"),
    HostOrder.PAGERANK: lazy_gettext("PageRank"),
}


@dataclass(frozen=True, slots=True)
class MonthBar:
    """A bar of the chart of a host: its place and height in a box of 120 by 24."""

    x: float
    width: float
    height: float


class MonthAxis:
    """A common axis of the months of several hosts, without damaged dates."""

    def __init__(self, hosts: Iterable[ArchivedHost]) -> None:
        known = (_month(one) for host in hosts for one in host.months)
        found = [one for one in known if one is not None]
        self._first = min(found, default=0)
        self._months = max(found, default=0) - self._first + 1

    def bars(self, host: ArchivedHost) -> list[MonthBar]:
        """Return a bar for each month of a host; the highest fills the height."""
        most = max((one.captures for one in host.months), default=1)
        step = _WIDTH / self._months
        return [
            MonthBar(round((at - self._first) * step, 2), round(max(step * 0.8, 1), 2), height)
            for one in host.months
            if (at := _month(one)) is not None
            and (height := round(max(24 * one.captures / most, 1), 1))
        ]


def _month(count: ValueCount) -> int | None:
    year, _, month = count.value.partition("-")
    is_date = year.isdigit() and month.isdigit()
    return int(year) * 12 + int(month) if is_date and _is_year(int(year)) else None


def _is_year(year: int) -> bool:
    return _FIRST_YEAR <= year < _LAST_YEAR


def hosts_of(arguments: Arguments, base: str) -> tuple[Asked, Callable[[], HostTable]]:
    """Return the parameters of an address, and a function that finds its hosts."""
    name = parameters.text(arguments, "name", 300)
    sort = parameters.choice(arguments, "sort", HostOrder.CAPTURES)
    reverse = parameters.number_parameter(arguments, "reverse", 0, 0, 1)
    asked = Asked(
        base, {"name": name, "sort": sort, "reverse": reverse}, {"sort": HostOrder.CAPTURES}
    )
    shown = archive()
    return asked, lambda: shown.hosts(name, sort=sort, reverse=bool(reverse))


@blueprint.get("", endpoint="show")
def show_hosts() -> ResponseReturnValue:
    """List hosts, one page of a table sorted by one of its columns."""
    page = parameters.list_page(request.args, HOSTS_A_PAGE)
    view, find = hosts_of(request.args, url_for(".show"))
    table = answer_facets(find)
    rows = table[page.begin : page.end]
    return render_template(
        "hosts.html",
        view=view,
        total=len(table),
        **page.shown(rows),
        here=view.base,
        columns=_HOST_COLUMNS,
        axis=MonthAxis(rows[:HOSTS_A_PAGE]),
        values_shown=VALUES_SHOWN,
        suffixes=tuple(HOST_FORMATS),
    )


@blueprint.get("/list.<suffix>")
def export_hosts(suffix: str) -> ResponseReturnValue:
    """Return all matching hosts as a file."""
    refusal = lazy_gettext("lists come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(HOST_FORMATS, suffix, refusal)
    find = hosts_of(request.args, "")[1]
    return exported_file(f"hosts.{suffix}", media_type, lambda: write(answer_facets(find)))


def _csv_lines(found: HostTable) -> Iterator[str]:
    return csv_lines(found.columns, map(found.cells, found))


def _json_lines(found: HostTable) -> Iterator[str]:
    yield "["
    for place, one in enumerate(found):
        yield f"{',' if place else ''}\n{json.dumps(asdict(one), ensure_ascii=False)}"
    yield "\n]\n"


HOST_FORMATS = {
    "csv": ("text/csv", _csv_lines),
    "json": ("application/json", _json_lines),
}
_PARAMETERS: Sequence[Parameter] = (
    Parameter("name", "hosts whose names contain this"),
    Parameter("sort", "the order", {"enum": list(HostOrder), "default": HostOrder.CAPTURES}),
    Parameter("reverse", "1 for the opposite order", {"enum": [0, 1], "default": 0}),
)
HOST_OPERATIONS = (
    Operation(
        "exportHosts",
        "/hosts/list.{suffix}",
        "The hosts with their captures, documents, bytes, months, statuses, types, languages",
        (file_parameter(*HOST_FORMATS), *_PARAMETERS),
        media_types=tuple(media_type for media_type, _ in HOST_FORMATS.values()),
        errors=NOT_FOUND,
        example="/hosts/list.csv?sort=bytes",
    ),
)
