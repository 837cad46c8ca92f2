"""The pages of quality: the list of playback scores, a page with its faults, repairs."""

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from itertools import accumulate, chain, islice
from typing import Any

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from PIL import Image, ImageDraw
from werkzeug.exceptions import NotFound

from nwx.answers.tables import PlaybackScores
from nwx.errors import FormatError, SourceError
from nwx.model import RenderPlace
from nwx.quality.images import scaled
from nwx.quality.missing_resources import RESOURCE_KINDS
from nwx.quality.repair_list import (
    Repair,
    RepairCounts,
    RepairList,
    csv_of_repairs,
    json_of_repairs,
)
from nwx.quality.scores import PlaybackScore, QualityOrder, Review, csv_of_scores, json_of_scores
from nwx.quality.stored_renders import read_placed_render
from nwx.values.render_names import FaultKind, RenderKind
from webapp.links.page import asked_list
from webapp.quality import labels
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.parameters import Arguments, Asked
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of

blueprint = Blueprint("quality", __name__, url_prefix="/quality")

PICTURE_TYPE = "image/webp"
MOST_ID = 2_000
_KINDS = (RenderKind.VIEW, RenderKind.FULL_PAGE, RenderKind.THUMBNAIL)
_MOST_BYTES = 32 << 20


class PictureOf(StrEnum):
    """The subject of a picture: a screenshot, or the difference of both."""

    CRAWL = "crawl"
    PLAYBACK = "playback"
    DIFFERENCE = "difference"


class PictureSize(StrEnum):
    """The size of a picture."""

    SMALL = "small"
    LARGE = "large"


_BOXES = {PictureSize.SMALL: (240, 150), PictureSize.LARGE: (1_280, 1_600)}


@blueprint.get("/picture", endpoint="picture")
def quality_picture() -> ResponseReturnValue:
    """Return a picture of a checked page."""
    id = parameters.text(request.args, "id", MOST_ID)
    of = parameters.choice(request.args, "of", PictureOf.CRAWL)
    size = parameters.choice(request.args, "size", PictureSize.LARGE)
    score = archive().score(id)
    if score is None or not _is_there(score, of):
        raise NotFound(gettext("there is no such picture"))
    key = blake2b(f"{score!r} {of} {size}".encode("utf-8", "surrogatepass")).hexdigest()
    response = Response(mimetype=PICTURE_TYPE)
    response.set_etag(key[:32])
    response.cache_control.private = True
    response.cache_control.no_cache = True  # a new check makes a new picture
    if request.if_none_match.contains(key[:32]):
        response.status_code = 304
        return response
    try:
        response.set_data(service().scaled.picture(key, lambda: _made(score, of, size)))
    except (SourceError, FormatError):
        # Browsers show the body of a 404 in the place of the picture.
        return Response(_unreadable(), status=404, mimetype=PICTURE_TYPE)
    return response


@cache
def _unreadable() -> bytes:
    """Return a picture with the text "cannot be read"."""
    image = Image.new("RGB", _BOXES[PictureSize.SMALL], "#f1f3f1")
    words = "cannot be read"
    at = (image.width / 2, image.height / 2)
    ImageDraw.Draw(image).text(at, words, fill="#55625f", font_size=20, anchor="mm")
    written = io.BytesIO()
    image.save(written, "WEBP")
    return written.getvalue()


def has_pictures(score: PlaybackScore) -> tuple[PictureOf, ...]:
    """Return the pictures available for a score."""
    return tuple(of for of in PictureOf if _is_there(score, of))


def _is_there(score: PlaybackScore, of: PictureOf) -> bool:
    views = {PictureOf.CRAWL: score.crawl_view, PictureOf.PLAYBACK: score.playback_view}
    return all(views.values()) if of is PictureOf.DIFFERENCE else views[of] is not None


def _made(score: PlaybackScore, of: PictureOf, size: PictureSize) -> bytes:
    if of is PictureOf.DIFFERENCE:
        # Imported here: the comparison of pictures is slow to load.
        from nwx.quality.measures import difference_image

        payload = difference_image(
            _payload(score, score.crawl_view), _payload(score, score.playback_view)
        )
    else:
        place = score.crawl_view if of is PictureOf.CRAWL else score.playback_view
        payload = _payload(score, place)
    return scaled(payload, *_BOXES[size], PICTURE_TYPE, crop=True)


def _payload(score: PlaybackScore, place: RenderPlace | None) -> bytes:
    if place is None:
        raise NotFound(gettext("there is no such picture"))
    return read_placed_render(place, score.url, _KINDS, _MOST_BYTES).payload


SCORES_A_PAGE = 25
GROUP_SHOWN = 8
FAULTS_SHOWN = 200
MOST_SCORE_PAGES = 100_000
SCORE_FORMATS = {"csv": ("text/csv", csv_of_scores), "json": ("application/json", json_of_scores)}
SCORE_ORDERS = {
    QualityOrder.WORST: lazy_gettext("Worst first"),
    QualityOrder.NEWEST: lazy_gettext("Checked last"),
}


_FIELDS = ("site", "host", "month", "collection", "kind")


def scores_of(arguments: Arguments, base: str = "") -> tuple[Asked, PlaybackScores]:
    """Return the parameters of a list of scores for a page at `base`, and the scores."""
    given: dict[str, Any] = {name: parameters.text(arguments, name, 300) for name in _FIELDS}
    given["kind"] = parameters.optional_choice(arguments, "kind", FaultKind) or ""
    given["order"] = parameters.choice(arguments, "order", QualityOrder.WORST)
    asked = Asked(base, given, {"order": QualityOrder.WORST})
    return asked, archive().quality(**given)


@blueprint.get("", endpoint="show")
def show_quality() -> ResponseReturnValue:
    """List checked pages, one page of a table, with totals."""
    page = parameters.list_page(request.args, SCORES_A_PAGE, MOST_SCORE_PAGES)
    view, found = scores_of(request.args, url_for(".show"))
    scores = answer_facets(lambda: found.page(page.begin, SCORES_A_PAGE))
    totals = found.totals
    return render_template(
        "quality.html",
        view=view,
        is_filtered=bool(set(view.given) - {"order"}),
        totals=totals,
        known_kinds=[one for one in totals.kinds if one.value in labels.FAULT_LABELS],
        months=totals.months[::-1],
        scores=scores,
        page=page.number,
        first=page.begin + 1,
        pages=-(-totals.pages // SCORES_A_PAGE),
        here=view.base,
        hosts_shown=GROUP_SHOWN,
        collections=archive().collections(),
        kinds=list(FaultKind),
        orders=SCORE_ORDERS,
        labels=labels,
        has_pictures=has_pictures,
        suffixes=tuple(SCORE_FORMATS),
    )


@blueprint.get("/page", endpoint="page")
def show_checked_page() -> ResponseReturnValue:
    """Show the playback quality of a page: its numbers, both screenshots, its faults."""
    id = parameters.text(request.args, "id", MOST_ID)
    score = archive().score(id)
    if score is None:
        raise NotFound(
            gettext("there is no score of this capture; it was not checked, or was removed")
        )
    return render_template(
        "quality_page.html",
        score=score,
        pictures=has_pictures(score),
        measures=labels.measures(score),
        groups=labels.fault_groups(score.faults),
        faults_shown=FAULTS_SHOWN,
        has_links=archive().is_built("links"),
        labels=labels,
    )


@blueprint.get("/scores.<suffix>", endpoint="export")
def export_scores(suffix: str) -> ResponseReturnValue:
    """Return all matching scores as a file."""
    refusal = lazy_gettext("scores come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(SCORE_FORMATS, suffix, refusal)
    found = iter(scores_of(request.args)[1])
    return exported_file(
        f"quality.{suffix}", media_type, lambda: write(chain(list(islice(found, 1)), found))
    )


repairs_blueprint = Blueprint("repairs", __name__, url_prefix="/quality/repairs")

REPAIRS_A_PAGE = 100
MOST_REPAIR_PAGES = 10

_Write = Callable[[RepairCounts, Iterator[Repair], Sequence[Review]], Iterator[str]]
REPAIR_FORMATS: dict[str, tuple[str, _Write]] = {
    "csv": ("text/csv", csv_of_repairs),
    "json": ("application/json", json_of_repairs),
    "txt": ("text/plain", lambda _, repairs, __: (f"{one.url}\n" for one in repairs)),
}


@dataclass(frozen=True, slots=True)
class ListedRepairs:
    """The beginning of a list of repairs, and the counts that it is based on.

    `whole` has for each repair the number of pages made whole by it and all before it.
    """

    counts: RepairCounts
    repairs: Sequence[Repair]
    whole: Sequence[int]
    is_current: bool


@repairs_blueprint.get("", endpoint="show")
def show_repairs() -> ResponseReturnValue:
    """List repairs, one page of a table."""
    view, shown = asked_list(request.args, url_for(".show")), archive()
    page = parameters.list_page(request.args, REPAIRS_A_PAGE, MOST_REPAIR_PAGES)
    key = "repairs", shown.stamp(), *view.given.items()
    options = view.options()
    # Cached until links, checks or captures change.
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


@repairs_blueprint.get("/list.<suffix>")
def export_repairs(suffix: str) -> ResponseReturnValue:
    """Return all repairs as a file: CSV, JSON, or a list of URLs for a crawler."""
    refusal = lazy_gettext("repairs come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(REPAIR_FORMATS, suffix, refusal)
    options, shown = asked_list(request.args, "").options(), archive()

    def begin() -> Iterator[str]:
        found = answer_facets(lambda: shown.repairs(**options))
        reviews = shown.repair_reviews(options.get("collection", ""))
        return write(found.counts(), found.repairs(), reviews)

    return exported_file(f"repairs.{suffix}", media_type, begin)


def _listed(found: RepairList) -> ListedRepairs:
    repairs = list(islice(found.repairs(), REPAIRS_A_PAGE * MOST_REPAIR_PAGES + 1))
    whole = tuple(accumulate(one.whole for one in repairs))
    return ListedRepairs(found.counts(), repairs, whole, found.is_current())
