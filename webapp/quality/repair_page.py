"""The page of repairs: which missing resources mend most pages, and the list as files."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import lazy_gettext

from nwx.quality.missing_resources import RESOURCE_KINDS
from nwx.quality.repair_list import (
    Repair,
    RepairCounts,
    RepairList,
    csv_of_repairs,
    json_of_repairs,
)
from webapp.links.page import asked_list
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of

blueprint = Blueprint("repairs", __name__, url_prefix="/quality/repairs")

REPAIRS_A_PAGE = 100
MOST_REPAIR_PAGES = 10

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


@blueprint.get("", endpoint="show")
def show_repairs() -> ResponseReturnValue:
    """List repairs, a page of a table."""
    view, shown = asked_list(request.args, url_for(".show")), archive()
    page = parameters.list_page(request.args, REPAIRS_A_PAGE, MOST_REPAIR_PAGES)
    key = "repairs", shown.stamp(), *view.given.items()
    options = view.options()
    # Made anew only when links, checks or captures changed.
    listed = service().answers.answer(
        key, lambda: answer_facets(lambda: _listed(shown.repairs(**options)))
    )
    rows = list(zip(listed.repairs, listed.whole, strict=True))
    return render_template(
        "repairs.html",
        view=view,
        counts=listed.counts,
        **page.shown(rows[page.begin : page.end]),
        last_page=MOST_REPAIR_PAGES,
        here=view.base,
        current=listed.is_current,
        collections=shown.collections(),
        kinds=RESOURCE_KINDS,
        suffixes=tuple(REPAIR_FORMATS),
    )


@blueprint.get("/list.<suffix>")
def export_repairs(suffix: str) -> ResponseReturnValue:
    """Return all repairs as a file: CSV, JSON, or a list of URLs for a crawler."""
    refusal = lazy_gettext("repairs come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(REPAIR_FORMATS, suffix, refusal)
    options, shown = asked_list(request.args, "").options(), archive()

    def begin() -> Iterator[str]:
        found = answer_facets(lambda: shown.repairs(**options))
        return write(found.counts(), found.repairs())

    return exported_file(f"repairs.{suffix}", media_type, begin)


def _listed(found: RepairList) -> ListedRepairs:
    repairs = list(islice(found.repairs(), REPAIRS_A_PAGE * MOST_REPAIR_PAGES + 1))
    whole = tuple(accumulate(one.whole for one in repairs))
    return ListedRepairs(found.counts(), repairs, whole, found.is_current())
