"""Queries over time and distinctive words: pages, chart and API."""

from collections.abc import Mapping
from enum import StrEnum
from functools import partial
from typing import Any

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext

from nwx.charts import specs
from nwx.charts.fields import Field, FieldKind, Spec, drawable
from nwx.errors import QueryError, UsageError
from nwx.query.fields import FILTERS
from nwx.query.question import Question
from nwx.searching.trends import (
    MOST_QUERIES,
    MOST_WORDS,
    TREND_COLUMNS,
    DistinctiveWords,
    PeriodCounts,
    Trends,
    sizes,
)
from nwx.values.records import csv_lines
from nwx.values.timestamps import Period, date_bound, date_span
from webapp.explore.charts import asked_picture, picture_width
from webapp.explore.page import chart_values
from webapp.search.api import FILTER_PARAMETERS
from webapp.search.page import mark
from webapp.search.questions import read_question, read_selection
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import COUNT, TEXT, Operation, Parameter, check_parameters
from webapp.site.question_limits import answer_search
from webapp.site.responses import json_answer

TRENDS_PARAMETERS = (
    Parameter(
        "q",
        f"a query, in Lucene syntax; up to {MOST_QUERIES}",
        {"type": "array", "items": TEXT, "maxItems": MOST_QUERIES},
    ),
    *FILTER_PARAMETERS,
    Parameter("by", "the unit of time", {"enum": list(Period), "default": "year"}),
)

WORDS_PARAMETERS = (
    Parameter("q", "the query, in Lucene syntax; all documents without it"),
    *FILTER_PARAMETERS,
    Parameter("limit", "the words to return", {**COUNT, "minimum": 1, "maximum": MOST_WORDS}),
)

TRENDS_OPERATIONS = (
    Operation(
        "trends",
        "/api/trends",
        "Captures and documents of queries by year or month",
        TRENDS_PARAMETERS,
        Trends,
        example="/api/trends?q=archive&q=library&by=year",
    ),
    Operation(
        "words",
        "/api/words",
        "Words that are unusually frequent in the results of a query",
        WORDS_PARAMETERS,
        DistinctiveWords,
        example="/api/words?q=archive",
    ),
)


blueprint = Blueprint("trends", __name__)

_SIZES = 6
_SHOWN_WORDS = 60

_TRENDS_NAMES = frozenset(parameter.name for parameter in TRENDS_PARAMETERS)
_TAKEN = {
    ".api": _TRENDS_NAMES,
    ".file": _TRENDS_NAMES | {"show"},
    ".words_api": frozenset(parameter.name for parameter in WORDS_PARAMETERS),
}
"""The parameters of each endpoint."""


class TrendMeasure(StrEnum):
    """The measure in a chart of queries."""

    CAPTURES = "captures"
    DOCUMENTS = "documents"
    SHARE = "share"


SHOWN_LABELS = {
    TrendMeasure.SHARE: lazy_gettext("Share of all captures"),
    TrendMeasure.CAPTURES: lazy_gettext("Captures"),
    TrendMeasure.DOCUMENTS: lazy_gettext("Documents"),
}
PERIOD_LABELS = {Period.YEAR: lazy_gettext("Year"), Period.MONTH: lazy_gettext("Month")}


def _queries() -> list[str]:
    asked = request.args.getlist("q")
    if len(asked) > 2 * MOST_QUERIES:
        raise UsageError.translated(
            "%(count)s queries are too many; compare at most %(most)s",
            count=len(asked),
            most=MOST_QUERIES,
        )
    queries = [query.strip() for query in asked if query.strip()]
    if any(len(query) > parameters.MAX_QUERY for query in queries):
        raise UsageError.translated(
            "a query has at most %(most)s characters", most=parameters.MAX_QUERY
        )
    return queries


def _found(queries: list[str]) -> Trends:
    shown, period = archive(), parameters.choice(request.args, "by", Period.YEAR)
    selection = _selection()
    return answer_search(lambda: shown.trends(queries, by=period, **selection).answer)


def _selection() -> dict[str, Any]:
    """Return the filters and dates of the request as options of the Python API."""
    asked = read_selection(request.args)
    return {"from_": asked.date_from, "to": asked.date_to, **asked.filters}


@blueprint.get("/trends", endpoint="show")
def show_trends() -> ResponseReturnValue:
    """Show queries over time: a form, a chart and a table with links to the hits."""
    queries, shown, selection = _queries(), _measure(), read_selection(request.args)
    found, error = None, None
    try:
        found = _found(queries) if queries else None
    except QueryError as raised:
        error = raised
    page = render_template(
        "trends.html",
        queries=queries + [""] * (MOST_QUERIES - len(queries)),
        found=found,
        error=error,
        mark=mark(error) if error else None,
        by=parameters.choice(request.args, "by", Period.YEAR),
        shown=shown,
        question=selection,
        shown_labels=SHOWN_LABELS,
        period_labels=PERIOD_LABELS,
        value_of=_value,
        hits_address=partial(_hits_address, selection),
        address=_address,
        filters=FILTERS,
        period_name=_period_name,
        spec=_chart(found, shown, "container") if found else None,
        **chart_values(),
    )
    return (page, 400) if error else page


@blueprint.get("/api/trends", endpoint="api")
def trends_json() -> ResponseReturnValue:
    """Answer with the counts of queries over time."""
    check_parameters(request.args, TRENDS_PARAMETERS)
    return json_answer(_found(_queries()))


@blueprint.get("/trends.<form>", endpoint="file")
def trends_file(form: str) -> ResponseReturnValue:
    """Return the counts of queries over time as CSV, or their chart as a picture."""
    if form == "csv":
        found = _found(_queries())
        headers = {"Content-Disposition": 'attachment; filename="trends.csv"'}
        lines = csv_lines(TREND_COLUMNS, found.rows())
        return Response("".join(lines), mimetype="text/csv", headers=headers)
    asked = asked_picture(form)
    return asked.of_chart(_chart(_found(_queries()), _measure(), picture_width()), "trends")


def _measure() -> TrendMeasure:
    return parameters.choice(request.args, "show", TrendMeasure.SHARE)


def _chart(found: Trends, shown: TrendMeasure, width: int | str) -> Spec:
    """Return the chart of queries; periods without captures are gaps."""
    kind = FieldKind.YEAR if found.by is Period.YEAR else FieldKind.MONTH
    period = Field("period", str(PERIOD_LABELS[found.by]), kind)
    value_kind = FieldKind.SHARE if shown is TrendMeasure.SHARE else FieldKind.COUNT
    value = Field("value", str(SHOWN_LABELS[shown]), value_kind)
    names = tuple(drawable(one.query) for one in found.trends)
    series = Field("query", gettext("Query"), FieldKind.CATEGORY, names)
    rows: list[Mapping[str, Any]] = [
        {
            period.name: _period_name(point.period),
            series.name: drawable(one.query),
            value.name: _value(point, shown) if total.captures else None,
        }
        for one in found.trends
        for point, total in zip(one.points, found.all.points, strict=True)
    ]
    spec = specs.spec_with_rows(specs.lines(period, value, series), rows)
    return specs.sized_spec(spec, width, 0)


def _period_name(period: str) -> str:
    return period if len(period) == Period.YEAR.digits else f"{period[:4]}-{period[4:]}"


def _value(point: PeriodCounts, shown: TrendMeasure) -> float | None:
    if shown is TrendMeasure.SHARE:
        return point.captures_share
    return point.documents if shown is TrendMeasure.DOCUMENTS else point.captures


def _hits_address(asked: Question, query: str, period: str) -> str:
    """Return the address of the hits of a period, cut to the dates of the page."""
    date = _period_name(period)
    first, last = date_span(date)
    begins_later = date_bound(asked.date_from, 0) > first
    ends_earlier = "" < date_bound(asked.date_to, 1) < last
    return _results_address(
        asked,
        query,
        asked.date_from if begins_later else date,
        asked.date_to if ends_earlier else date,
    )


def _word_address(asked: Question, word: str) -> str:
    """Return the address of the documents of the selection that contain a word."""
    query = f"({asked.text}) AND {word}" if asked.text else word
    return _results_address(asked, query, asked.date_from, asked.date_to)


def _results_address(asked: Question, query: str, date_from: str, date_to: str) -> str:
    """Return the address of the hits of a query with the filters of this page."""
    # `from` is a Python keyword.
    values: dict[str, Any] = {**asked.filters, "from": date_from or None, "to": date_to or None}
    return url_for("search.results", q=query, **values)


def _address(endpoint: str, **changes: str) -> str:
    """Return the address of the same question at another endpoint, with some changes.

    Only the endpoint's known parameters are kept: some names have a special
    meaning for `url_for`.
    """
    given = request.args.lists()
    asked: dict[str, Any] = {
        name: values for name, values in given if name in _TAKEN[endpoint] and any(values)
    }
    return url_for(endpoint, **(asked | changes))


@blueprint.get("/words", endpoint="words")
def show_words() -> ResponseReturnValue:
    """Show the most distinctive words of a selection, as a cloud and as a table."""
    shown, question, selection = archive(), read_question(request.args), _selection()
    found, error = None, None
    try:
        if question.query or question.filters or question.date_from or question.date_to:
            found = answer_search(
                lambda: shown.words(question.text, limit=_SHOWN_WORDS, **selection)
            )
    except QueryError as raised:
        error = raised
    page = render_template(
        "words.html",
        question=question,
        found=found,
        error=error,
        mark=mark(error) if error else None,
        sizes=sizes(found.words, _SIZES) if found else {},
        address=_address,
        word_address=partial(_word_address, question),
        filters=FILTERS,
    )
    return (page, 400) if error else page


@blueprint.get("/api/words", endpoint="words_api")
def words_json() -> ResponseReturnValue:
    """Answer with the most distinctive words of a selection."""
    check_parameters(request.args, WORDS_PARAMETERS)
    shown, text, selection = archive(), read_question(request.args).text, _selection()
    most = parameters.number_parameter(request.args, "limit", 30, 1, MOST_WORDS)
    found = answer_search(lambda: shown.words(text, limit=most, **selection))
    return json_answer(found)
