"""The SQL page, for logged-in users: a query with its rows, as table, chart and files."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flask import Blueprint, Response, render_template, request
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.answers.sql_table import SqlTable, column_kind
from nwx.bulk.whole_files import parquet_bytes
from nwx.charts import specs
from nwx.charts.fields import Field, FieldKind, Spec, drawable
from nwx.errors import NotBuiltError, QueryError, QuestionTimeoutError
from nwx.searching.sql import SqlLimits, all_columns
from nwx.values.records import csv_line
from webapp.explore.charts import asked_picture, picture_width
from webapp.explore.page import chart_values
from webapp.login_page import needs_login
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.question_limits import answer_facets
from webapp.site.responses import status_of
from webapp.site.viewer import viewer
from webapp.site.words import error_text

blueprint = Blueprint("sql", __name__, url_prefix="/sql")

LONGEST_PAGE_SQL = 4_000
SQL_ROWS_SHOWN = 1_000
_MIB = 1 << 20
_SHOWN = SqlLimits(30.0, SQL_ROWS_SHOWN, 2 * _MIB, 512 * _MIB, 4 << 30, 1, is_streamed=False)
_FILE = SqlLimits(55.0, 100_000, 64 * _MIB, 512 * _MIB, 4 << 30, 1, is_streamed=False)
_KEPT_SECONDS = 60.0
_MOST_BARS = 60
_log = logging.getLogger(__name__)
_EXAMPLES = {
    lazy_gettext("Captures by year"): "SELECT year(timestamp) AS year, count(*) AS captures\n"
    "FROM captures GROUP BY year ORDER BY year",
    lazy_gettext("Largest hosts"): "SELECT host, captures, urls, bytes FROM hosts\n"
    "ORDER BY captures DESC LIMIT 20",
    lazy_gettext("Languages of documents"): "SELECT content_language, count(*) AS documents\n"
    "FROM documents GROUP BY 1 ORDER BY 2 DESC",
    lazy_gettext("Pages with most versions"): "SELECT any_value(url) AS url,\n"
    "  count(DISTINCT digest) AS versions, count(*) AS captures\n"
    "FROM captures GROUP BY urlkey ORDER BY versions DESC LIMIT 20",
}


@blueprint.get("", endpoint="show")
@needs_login
def show_sql() -> ResponseReturnValue:
    """Show the form with examples and columns, and the rows of the query if given."""
    query = parameters.text(request.args, "query", LONGEST_PAGE_SQL).strip()
    found, problem, status = None, "", 200
    try:
        found = _kept(query) if query else None
    except (QueryError, NotBuiltError, QuestionTimeoutError) as error:
        problem, status = error_text(error), status_of(error)
    page = render_template(
        "sql.html",
        query=query,
        found=found,
        problem=problem,
        has_chart=found is not None and _chart(found) is not None,
        is_number=lambda kind: column_kind(kind) in (int, float),
        examples=_EXAMPLES,
        tables=all_columns(),
        longest=LONGEST_PAGE_SQL,
        **chart_values(),
    )
    return page, status


@blueprint.get("/rows.<form>", endpoint="rows")
@needs_login
def sql_file(form: str) -> ResponseReturnValue:
    """Return the rows of a query as CSV, JSON or Parquet, or a chart of them as a picture."""
    query = parameters.text(request.args, "query", LONGEST_PAGE_SQL)
    if form in ("svg", "png"):
        spec = _chart(_kept(query))
        if spec is None:
            raise NotFound(gettext("these rows cannot be drawn as a chart"))
        return asked_picture(form).of_chart(spec, "sql")
    if form not in _FORMS:
        raise NotFound()
    found = _answered(query, _FILE)
    media, written = _FORMS[form]
    headers = {"Content-Disposition": f'attachment; filename="rows.{form}"'}
    return Response(written(found), mimetype=media, headers=headers)


def _csv(found: SqlTable) -> str:
    rows = (["" if one is None else one for one in found.text_cells(row)] for row in found)
    return "".join(map(csv_line, (found.columns, *rows)))


def _json(found: SqlTable) -> str:
    rows = [dict(zip(found.columns, row, strict=True)) for row in found]
    return json.dumps(rows, ensure_ascii=False)


def _parquet(found: SqlTable) -> bytes:
    return bytes(parquet_bytes(found.to_polars()))


_FORMS: Mapping[str, tuple[str, Callable[[SqlTable], str | bytes]]] = {
    "csv": ("text/csv", _csv),
    "json": ("application/json", _json),
    "parquet": ("application/vnd.apache.parquet", _parquet),
}


def _kept(query: str) -> SqlTable:
    """Return the first rows of a query, cached for 60 s so that page and chart agree."""
    key = "sql", archive().stamp(), query
    return service().answers.answer(key, lambda: _answered(query, _SHOWN), _KEPT_SECONDS)


def _answered(query: str, limits: SqlLimits) -> SqlTable:
    _log.info("SQL by %s: %r", viewer().user, query)
    shown = archive()

    def ask() -> SqlTable:
        found = shown.sql(query, limits)
        len(found)  # reads the rows
        return found

    return answer_facets(ask)


def _chart(found: SqlTable) -> Spec | None:
    """Return bars of the first later column of numbers by the first column, None if unsuitable."""
    kinds = {name: column_kind(kind) for name, kind in found.types.items()}
    names = list(kinds)
    values = [name for name in names[1:] if kinds[name] in (int, float)]
    rows = found[:_MOST_BARS]
    if not values or len({str(row[0]) for row in rows}) < len(rows) or len(rows) < 2:
        return None
    place = names.index(values[0])
    years = kinds[names[0]] is int and all(row[0] and 1_000 <= row[0] <= 9_999 for row in rows)
    category = Field("name", drawable(names[0]), FieldKind.YEAR if years else FieldKind.CATEGORY)
    whole = kinds[values[0]] is int
    value = Field("value", drawable(values[0]), FieldKind.COUNT if whole else FieldKind.RATIO)
    drawn: Sequence[Mapping[str, Any]] = [
        {"name": drawable("" if row[0] is None else str(row[0]))[:80], "value": row[place]}
        for row in rows
    ]
    spec = specs.spec_with_rows(specs.bars(category, value), drawn)
    return specs.sized_spec(spec, picture_width(), 0 if years else len(rows))
