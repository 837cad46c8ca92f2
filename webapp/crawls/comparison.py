"""The comparison of two collections, or of one with a crawl specification: page and charts."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from flask import Blueprint, jsonify, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, ngettext
from werkzeug.exceptions import NotFound

from nwx.charts import specs
from nwx.charts.fields import Field, FieldKind, Spec, drawable
from nwx.charts.specs import PAGES, RELEVANT, harvest_chart
from nwx.errors import UsageError
from nwx.steering.comparison.comparison import CollectionComparison, ComparedCollection
from nwx.steering.comparison.comparison_json import AGES, ages, comparison_json
from nwx.steering.comparison.counts import SCORE_BINS, Overlap
from nwx.steering.comparison.quality import QualityCounts
from webapp.explore.charts import asked_picture, picture_width, with_words
from webapp.explore.page import chart_values
from webapp.quality_labels import fault_label
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.parameters import Asked
from webapp.site.question_limits import answer_facets
from webapp.site.words import decimal

CHARTS = ("overlap", "harvest", "relevance", "quality", "faults", "freshness")
"""The names of all charts that a comparison may have."""

_ROWS_A_GROUP = 2


@dataclass(frozen=True, slots=True)
class ComparisonChart:
    """A chart with its title; the tables of the page have its numbers."""

    name: str
    title: str
    spec: Spec


def comparison_charts(comparison: CollectionComparison) -> dict[str, ComparisonChart]:
    """Return the charts that a comparison has, by name."""
    found = []
    if comparison.b is not None:
        found.append(("overlap", gettext("Coverage and overlap"), _overlap(comparison)))
    if any(side.relevance and side.relevance.pages for side in comparison.sides):
        found.append(("harvest", gettext("Relevant pages over pages"), _harvest(comparison)))
        found.append(("relevance", gettext("Documents by score"), _relevance(comparison)))
    if comparison.quality is not None:
        found.append(("quality", gettext("Pages by playback score"), _quality(comparison)))
        if any(side.faults for side in comparison.quality.sides):
            found.append(("faults", gettext("Pages by kind of fault"), _faults(comparison)))
    found.append(("freshness", gettext("URLs by age"), _freshness(comparison)))
    return {name: ComparisonChart(name, title, spec) for name, title, spec in found}


def age_labels() -> list[str]:
    """Return the labels of the age groups."""
    most = gettext("more than %(count)s days", count=AGES[-1])
    return [
        *(
            ngettext("up to %(count)s day", "up to %(count)s days", days, count=days)
            for days in AGES
        ),
        most,
    ]


def score_labels() -> list[str]:
    """Return the labels of the score ranges, for relevance and playback scores."""
    ends = [place / SCORE_BINS for place in range(SCORE_BINS + 1)]
    return [f"{decimal(low, 1)} – {decimal(high, 1)}" for low, high in pairwise(ends)]


def _overlap(comparison: CollectionComparison) -> Spec:
    assert comparison.b is not None
    a, b = drawable(comparison.a.name), drawable(comparison.b.name)
    parts = (gettext("only %(name)s", name=a), gettext("both"), gettext("only %(name)s", name=b))
    kinds: Mapping[str, Overlap] = {
        gettext("URLs"): comparison.urls,
        gettext("Hosts"): comparison.hosts,
        gettext("Documents"): comparison.documents,
    }
    what = Field("what", gettext("What"), FieldKind.CATEGORY, tuple(kinds))
    where = Field("where", gettext("Where"), FieldKind.CATEGORY, parts)
    count = Field("count", gettext("All"), FieldKind.COUNT)
    rows = [
        {what.name: name, where.name: part, count.name: value}
        for name, overlap in kinds.items()
        for part, value in zip(parts, (overlap.only_a, overlap.both, overlap.only_b), strict=True)
    ]
    words = {f"Share of {count.title.lower()}": gettext("Share of total")}
    spec = with_words(specs.stacked(what, where, count, share=True), words)
    return _sized(spec, rows, len(kinds))


def _freshness(comparison: CollectionComparison) -> Spec:
    until = max(side.counts.last for side in comparison.sides)
    groups = {side.name: ages(side.counts, until) for side in comparison.sides}
    return _grouped(gettext("Age"), age_labels(), gettext("URLs"), groups)


def _relevance(comparison: CollectionComparison) -> Spec:
    groups = {
        side.name: side.relevance.distribution if side.relevance else ()
        for side in comparison.sides
    }
    return _grouped(gettext("Score"), score_labels(), gettext("Documents"), groups)


def _quality(comparison: CollectionComparison) -> Spec:
    groups = {side.name: counts.distribution for side, counts in _checked(comparison)}
    return _grouped(gettext("Score"), score_labels(), gettext("Pages"), groups)


def _faults(comparison: CollectionComparison) -> Spec:
    kinds = fault_kinds(comparison)
    labels = [drawable(fault_label(kind)) for kind in kinds]
    groups = {
        side.name: [counts.faults[kind] for kind in kinds] for side, counts in _checked(comparison)
    }
    return _grouped(gettext("Fault"), labels, gettext("Pages"), groups)


def fault_kinds(comparison: CollectionComparison) -> list[str]:
    """Return the kinds of faults by number of pages, descending."""
    counts: Counter[str] = Counter()
    for _, side in _checked(comparison):
        counts.update(side.faults)
    return sorted(counts, key=lambda kind: (-counts[kind], kind))


def _checked(
    comparison: CollectionComparison,
) -> Iterator[tuple[ComparedCollection, QualityCounts]]:
    if comparison.quality is not None:
        yield from zip(comparison.sides, comparison.quality.sides, strict=True)


def _grouped(
    title: str, labels: list[str], counted: str, groups: Mapping[str, Sequence[int]]
) -> Spec:
    """Return a grouped bar chart of the counts of each collection by label."""
    names = tuple(map(drawable, groups))
    group = Field("group", title, FieldKind.CATEGORY, tuple(labels))
    series = Field("collection", gettext("Collection"), FieldKind.CATEGORY, names)
    value = Field("count", counted, FieldKind.COUNT)
    rows = [
        {group.name: label, series.name: name, value.name: count}
        for name, counts in zip(names, groups.values(), strict=True)
        for label, count in zip(labels, counts, strict=False)
    ]
    return _sized(specs.grouped_bars(group, series, value), rows, len(labels) * _ROWS_A_GROUP)


def _harvest(comparison: CollectionComparison) -> Spec:
    harvests = {
        drawable(side.name): [(point.pages, point.relevant) for point in side.relevance.harvest()]
        for side in comparison.sides
        if side.relevance
    }
    words = {
        PAGES.title: gettext("Pages fetched"),
        RELEVANT.title: gettext("Relevant pages"),
        "Crawl": gettext("Crawl"),
    }
    spec: Spec = with_words(harvest_chart(harvests, picture_width(), RELEVANT), words)
    return spec


def _sized(spec: Spec, rows: list[dict[str, Any]], names: int) -> Spec:
    return specs.sized_spec(specs.spec_with_rows(spec, rows), picture_width(), names)


blueprint = Blueprint("comparison", __name__, url_prefix="/crawls/compare")

HOSTS_SHOWN = 20
_LONGEST_NAME = 300


def _asked(base: str = "") -> Asked:
    """Return the collections and the specification named in the request."""
    names = ("a", "b", "spec")
    return Asked(base, {one: parameters.text(request.args, one, _LONGEST_NAME) for one in names})


def _is_complete(asked: Asked) -> bool:
    given = asked.given
    return "a" in given and ("b" in given or "spec" in given)


@blueprint.get("", endpoint="show")
def show_comparison() -> ResponseReturnValue:
    """Show two collections, or one with its specification, side by side."""
    own, asked = archive(), _asked(url_for(".show"))
    found = _comparison(asked) if _is_complete(asked) else None
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
        collections=own.collections(),
        crawls=[one.name for one, _ in own.crawls()],
        age_labels=age_labels(),
        score_labels=score_labels(),
        fault_label=fault_label,
        hosts_shown=HOSTS_SHOWN,
        **chart_values(),
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
    if not _is_complete(asked):
        raise UsageError.translated(
            "a, and b or spec, are missing; name two collections, or one and a crawl"
        )
    return _comparison(asked)


def _comparison(asked: Asked) -> CollectionComparison:
    """Return a comparison, cached until captures, scores or checks change."""
    own, given = archive(), asked.given
    a, b, crawl = given["a"], given.get("b", ""), given.get("spec", "")
    analysed = repr((own.crawl_specification(crawl), own.analysed_versions(crawl))) if crawl else ""
    key = "comparison", a, b, crawl, analysed, own.stamp(*filter(None, (a, b)))
    return service().answers.answer(
        key, lambda: answer_facets(lambda: own.stored_comparison(a, b, crawl))
    )
