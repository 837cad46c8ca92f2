"""The page of compared collections, with its charts as pictures and its numbers as JSON."""

import threading
from dataclasses import dataclass, field

from cachetools import TTLCache
from flask import Blueprint, current_app, jsonify, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.engine.base import Engine
from nwx.errors import ErrorText, UsageError
from nwx.steering.comparison.comparison import CollectionComparison, compare
from nwx.steering.comparison.comparison_json import ages, comparison_json
from nwx.steering.comparison.question import relevance_question
from nwx.steering.specifications.specification_store import (
    UnknownCrawlError,
    specification_of,
    stored_specification,
)
from webapp.crawls.comparison_charts import (
    age_labels,
    comparison_charts,
    fault_kinds,
    score_labels,
)
from webapp.explore.asked_pictures import asked_picture
from webapp.explore.page import extended, schemes
from webapp.quality.labels import fault_label
from webapp.quality.presence import checks_stamp
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.error_texts import error_text
from webapp.site.question_limits import answer_facets

blueprint = Blueprint("comparison", __name__, url_prefix="/crawls/compare")

HOSTS_SHOWN = 20
_EXTENSION = "nwx-comparisons"
_KEPT, _KEPT_SECONDS = 16, 600
_LONGEST_NAME = 300


@dataclass(frozen=True, slots=True)
class _Asked:
    """The collections and the specification that an address names; "" are not chosen."""

    a: str
    b: str
    crawl: str

    @property
    def is_complete(self) -> bool:
        return bool(self.a and (self.b or self.crawl))

    def address(self, endpoint: str, **more: str) -> str:
        """Return the address of a page with the same parameters."""
        pairs = {"a": self.a, "b": self.b, "spec": self.crawl}
        chosen = {name: value for name, value in pairs.items() if value}
        return url_for(endpoint, **chosen, **more)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Comparisons:
    """The comparisons that were made last, until the archive changes."""

    made: TTLCache[tuple[str, ...], CollectionComparison] = field(
        default_factory=lambda: TTLCache(_KEPT, _KEPT_SECONDS)
    )
    guard: threading.Lock = field(default_factory=threading.Lock)


def _asked() -> _Asked:
    a, b, crawl = (
        parameters.text(request.args, name, _LONGEST_NAME) for name in ("a", "b", "spec")
    )
    return _Asked(a, b, crawl)


@blueprint.get("", endpoint="show")
def show_comparison() -> ResponseReturnValue:
    """Show two collections, or one with its specification, side by side."""
    archive, asked = engine(), _asked()
    crawls = [one.name for one in archive.crawl_index().specifications()]
    found = _comparison(archive, asked) if asked.is_complete else None
    shown = {}
    if found is not None:
        until = max(side.counts.last for side in found.sides)
        shown = {
            "ages": [ages(side.counts, until) for side in found.sides],
            "statuses": sorted({each for side in found.sides for each in side.counts.statuses}),
            "charts": comparison_charts(found).values(),
            "fault_kinds": fault_kinds(found),
        }
    return render_template(
        "compare.html",
        asked=asked,
        found=found,
        collections=archive.collections(),
        crawls=crawls,
        age_labels=age_labels(),
        score_labels=score_labels(),
        fault_label=fault_label,
        hosts_shown=HOSTS_SHOWN,
        shown_schemes=schemes(),
        extended=extended,
        **shown,
    )


@blueprint.get("/numbers.json")
def numbers() -> ResponseReturnValue:
    """Return the comparison as JSON."""
    return jsonify(comparison_json(_complete()))


@blueprint.get("/<chart>.<form>")
def chart_picture(chart: str, form: str) -> ResponseReturnValue:
    """Return a chart of the page as a picture."""
    picture = asked_picture(form)
    found = comparison_charts(_complete()).get(chart)
    if found is None:
        raise NotFound(gettext("this comparison has no chart %(chart)s", chart=repr(chart)))
    return picture.of_chart(found.spec, chart)


def _complete() -> CollectionComparison:
    asked = _asked()
    if not asked.is_complete:
        raise UsageError(
            ErrorText("a, and b or spec, are missing; name two collections, or one and a crawl")
        )
    return _comparison(engine(), asked)


def _comparison(archive: Engine, asked: _Asked) -> CollectionComparison:
    """Return a comparison, made anew only when captures, scores or checks have changed."""
    crawls = archive.crawl_index()
    specification, analysed = None, ""
    if asked.crawl:
        try:
            specification = specification_of(stored_specification(crawls, asked.crawl))
        except UnknownCrawlError as error:
            raise NotFound(error_text(error)) from error
        analysed = repr((specification.version(), crawls.analysed_versions(asked.crawl)))
    checked = "".join(checks_stamp(archive, name) for name in (asked.a, asked.b) if name)
    stamp = archive.facet_store().stamp()
    key = (archive.hidden_key, asked.a, asked.b, asked.crawl, analysed, checked, stamp)
    known: _Comparisons = current_app.extensions.setdefault(_EXTENSION, _Comparisons())

    def make() -> CollectionComparison:
        relevance = None
        if specification is not None:
            relevance = relevance_question(archive, specification, analyse=False)
        return compare(archive, asked.a, asked.b, relevance)

    with known.guard:
        found = known.made.get(key)
    if found is None:
        found = answer_facets(make)
        with known.guard:
            known.made[key] = found
    return found
