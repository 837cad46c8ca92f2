"""The page of repairs: which missing resources mend most pages, and the list as files."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from cachetools import TTLCache
from flask import Blueprint, current_app, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import lazy_gettext

from nwx.engine.base import Engine
from nwx.errors import ErrorText, UsageError
from nwx.quality.missing_resources import RepairQuestion
from nwx.quality.repair_list import (
    Repair,
    RepairCounts,
    RepairList,
    csv_of_repairs,
    json_of_repairs,
)
from nwx.values.urls import EMBEDDED, KINDS
from webapp.links.page import MissingView, read_missing_view
from webapp.quality.labels import checks_stamp
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of

blueprint = Blueprint("repairs", __name__, url_prefix="/quality/repairs")

REPAIRS_A_PAGE = 100
MOST_REPAIR_PAGES = 10
RESOURCE_KINDS = tuple(kind for kind in KINDS if kind in EMBEDDED)
_KEPT, _KEPT_SECONDS = 8, 600
_EXTENSION = "nwx-repairs"

_Write = Callable[[RepairCounts, Iterator[Repair]], Iterator[str]]
REPAIR_FORMATS: dict[str, tuple[str, _Write]] = {
    "csv": ("text/csv", lambda _, repairs: csv_of_repairs(repairs)),
    "json": ("application/json", json_of_repairs),
    "txt": ("text/plain", lambda _, repairs: (f"{one.url}\n" for one in repairs)),
}


@dataclass(frozen=True, slots=True)
class ListedRepairs:
    """The beginning of a list of repairs, and what the list is made of.

    `whole` has for each repair how many pages are whole with it and those before it.
    """

    counts: RepairCounts
    repairs: Sequence[Repair]
    whole: Sequence[int]
    is_current: bool


@dataclass(slots=True)
class _Lists:
    """The lists that were made last, until links, checks or captures change."""

    made: TTLCache[tuple[object, ...], ListedRepairs] = field(
        default_factory=lambda: TTLCache(_KEPT, _KEPT_SECONDS)
    )
    guard: threading.Lock = field(default_factory=threading.Lock)


@blueprint.get("", endpoint="show")
def show_repairs() -> ResponseReturnValue:
    """List repairs, a page of a table."""
    view, archive = read_missing_view(request.args), engine()
    page = parameters.number_parameter(request.args, "page", 1, 1, MOST_REPAIR_PAGES)
    listed = _listed(archive, _question(view))
    begin = (page - 1) * REPAIRS_A_PAGE
    return render_template(
        "repairs.html",
        view=view,
        counts=listed.counts,
        rows=list(zip(listed.repairs, listed.whole, strict=True))[begin : begin + REPAIRS_A_PAGE],
        more=len(listed.repairs) > begin + REPAIRS_A_PAGE,
        page=page,
        last_page=MOST_REPAIR_PAGES,
        here=url_for(".show"),
        current=listed.is_current,
        collections=archive.collections(),
        kinds=RESOURCE_KINDS,
        suffixes=tuple(REPAIR_FORMATS),
    )


@blueprint.get("/list.<suffix>")
def export_repairs(suffix: str) -> ResponseReturnValue:
    """Return all repairs as a file: CSV, JSON, or a list of URLs for a crawler."""
    refusal = lazy_gettext("repairs come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(REPAIR_FORMATS, suffix, refusal)
    question, archive = _question(read_missing_view(request.args)), engine()

    def begin() -> Iterator[str]:
        found = answer_facets(lambda: RepairList(archive, question))
        return write(found.counts(), found.repairs())

    return exported_file(f"repairs.{suffix}", media_type, begin)


def _question(view: MissingView) -> RepairQuestion:
    """Return what an address asks for; raises UsageError for kinds that no browser loads."""
    kinds = view.question.kinds & EMBEDDED
    if not kinds:
        raise UsageError(
            ErrorText(
                "kind is none of a resource; choose one of %(choices)s",
                choices=", ".join(RESOURCE_KINDS),
            )
        )
    return RepairQuestion(view.question.pages, kinds, view.question.site)


def _listed(archive: Engine, question: RepairQuestion) -> ListedRepairs:
    """Return the beginning of a list, made anew only when links, checks or captures changed."""
    links = archive.inlink_index().version()
    stamp = archive.facet_store().stamp()
    key = (archive.hidden_key, question, checks_stamp(archive), links, stamp)
    known: _Lists = current_app.extensions.setdefault(_EXTENSION, _Lists())
    with known.guard:
        found = known.made.get(key)
    if found is None:
        found = answer_facets(lambda: _made(archive, question))
        with known.guard:
            known.made[key] = found
    return found


def _made(archive: Engine, question: RepairQuestion) -> ListedRepairs:
    found = RepairList(archive, question)
    repairs = list(islice(found.repairs(), REPAIRS_A_PAGE * MOST_REPAIR_PAGES + 1))
    whole, sums = 0, []
    for one in repairs:
        whole += one.whole
        sums.append(whole)
    return ListedRepairs(found.counts(), repairs, sums, found.is_current())
