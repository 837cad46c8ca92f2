"""The page of what captured pages need and the archive lacks, and its lists as files."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from json import dumps
from urllib.parse import urlencode

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.errors import TimestampError, UsageError
from nwx.links.missing_urls import (
    KIND_GROUPS,
    MissingQuestion,
    MissingUrl,
    PageFilter,
    missing_urls,
)
from nwx.query.dates import date_span
from nwx.values.csv_cells import csv_line
from nwx.values.urls import KINDS
from webapp.links.backend import link_answers
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.parameters import Arguments
from webapp.site.question_limits import Export, answer_facets

blueprint = Blueprint("missing", __name__, url_prefix="/missing")

ROWS_A_PAGE = 100
MOST_MISSING_PAGES = 10
MISSING_COLUMNS = ("url", "kind", "pages", "status")
MISSING_SUFFIXES = {"csv": "text/csv", "json": "application/json", "txt": "text/plain"}
_FIELDS = ("kind", "site", "host", "collection", "from", "to")


@dataclass(frozen=True, slots=True)
class MissingView:
    """The parameters of an address, and the question that they are."""

    given: dict[str, str]
    question: MissingQuestion

    def address(self, base: str, **more: object) -> str:
        """Return an address with the same parameters, and more."""
        pairs = {**self.given, **{name: value for name, value in more.items() if value}}
        return f"{base}?{urlencode(pairs)}" if pairs else base


def read_missing_view(arguments: Arguments) -> MissingView:
    """Return the question of an address; raises UsageError for what makes no sense."""
    given = {name: parameters.text(arguments, name, 300) for name in _FIELDS}
    kind = given["kind"]
    if kind and kind not in KIND_GROUPS and kind not in KINDS:
        raise UsageError(parameters.not_a_choice("kind", kind, (*KIND_GROUPS, *KINDS)))
    kinds = MissingQuestion().kinds
    try:
        since = date_span(given["from"])[0] if given["from"] else ""
        until = date_span(given["to"])[1] if given["to"] else ""
    except TimestampError as error:
        raise UsageError(error.text) from error
    pages = PageFilter(given["site"], given["collection"], since, until)
    wanted = KIND_GROUPS.get(kind, frozenset({kind})) if kind else kinds
    shown = {name: value for name, value in given.items() if value}
    return MissingView(shown, MissingQuestion(wanted, pages, given["host"]))


@blueprint.get("", endpoint="show")
def show_missing() -> ResponseReturnValue:
    """List what is missing, a page of a table."""
    view = read_missing_view(request.args)
    page = parameters.number_parameter(request.args, "page", 1, 1, MOST_MISSING_PAGES)
    answers, archive = link_answers(), engine()
    links = answers.links()
    if links is None:
        return render_template("missing.html", rows=None)
    begin = (page - 1) * ROWS_A_PAGE
    rows = answer_facets(
        lambda: list(
            islice(missing_urls(archive, links, view.question), begin, begin + ROWS_A_PAGE + 1)
        )
    )
    return render_template(
        "missing.html",
        view=view,
        rows=rows[:ROWS_A_PAGE],
        more=len(rows) > ROWS_A_PAGE,
        page=page,
        last_page=MOST_MISSING_PAGES,
        here=url_for(".show"),
        current=links.is_current(),
        collections=archive.collections(),
        groups=tuple(KIND_GROUPS),
        kinds=KINDS,
        suffixes=tuple(MISSING_SUFFIXES),
    )


@blueprint.get("/urls.<suffix>")
def export_missing(suffix: str) -> ResponseReturnValue:
    """Return all that is missing as a file: CSV, JSON, or a list of URLs."""
    if suffix not in MISSING_SUFFIXES:
        raise NotFound(
            gettext(
                "lists come as %(choices)s, not as %(suffix)s",
                choices=", ".join(MISSING_SUFFIXES),
                suffix=repr(suffix),
            )
        )
    view, links, archive = read_missing_view(request.args), link_answers().links(), engine()
    if links is None:
        raise NotFound(gettext("the links of this archive were never inverted"))
    found = missing_urls(archive, links, view.question)
    lines = {"csv": _csv_lines, "json": _json_lines, "txt": _url_lines}[suffix](found)
    export = Export()
    response = Response(export.pieces(lines), mimetype=MISSING_SUFFIXES[suffix])
    response.call_on_close(export.end)
    response.headers["Content-Disposition"] = f'attachment; filename="missing.{suffix}"'
    return response


def _csv_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    yield csv_line(MISSING_COLUMNS)
    for one in found:
        yield csv_line((one.url, one.kind, one.pages, "" if one.status is None else one.status))


def _json_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    opening = "["
    for one in found:
        yield f"{opening}\n{dumps(asdict(one), ensure_ascii=False)}"
        opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"


def _url_lines(found: Iterable[MissingUrl]) -> Iterator[str]:
    for one in found:
        yield f"{one.url}\n"
