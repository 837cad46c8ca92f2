"""Playback quality: checked pages with scores and pictures, and reviews, with the JSON API."""

import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from functools import cache
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from PIL import Image, ImageDraw
from werkzeug.exceptions import NotFound

from nwx.answers.tables import PlaybackScores, Rows
from nwx.engine.access.rules import Role
from nwx.errors import FormatError, SourceError
from nwx.model import RenderPlace
from nwx.quality.images import scaled
from nwx.quality.scores import (
    PlaybackScore,
    QualityAnswer,
    QualityOrder,
    Review,
    ReviewVerdict,
    csv_of_scores,
    json_of_scores,
    quality_answer,
)
from nwx.quality.stored_renders import read_placed_render
from nwx.values.records import csv_lines
from nwx.values.render_names import FaultKind, RenderKind
from webapp import quality_labels
from webapp.crawls.editor import can_judge, check_sender
from webapp.login_page import needs_role
from webapp.site import parameters
from webapp.site.context import archive, service
from webapp.site.openapi import (
    NOT_FOUND,
    Operation,
    Parameter,
    check_parameters,
    file_parameter,
    paging_parameters,
)
from webapp.site.parameters import Arguments, Asked
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of, json_answer
from webapp.site.viewer import viewer

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
        known_kinds=[one for one in totals.kinds if one.value in quality_labels.FAULT_LABELS],
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
        labels=quality_labels,
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
        measures=quality_labels.measures(score),
        groups=quality_labels.fault_groups(score.faults),
        faults_shown=FAULTS_SHOWN,
        has_links=archive().is_built("links"),
        labels=quality_labels,
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


MOST_SCORES_ANSWERED = 1_000

_FILTERS = (
    Parameter("site", "pages of this host, of a registered domain those of all its hosts"),
    Parameter("host", "pages of this host alone"),
    Parameter("month", "pages captured in this month, YYYY-MM"),
    Parameter("collection", "pages of this collection"),
    Parameter("kind", "pages with a fault of this kind", {"enum": list(FaultKind)}),
    Parameter(
        "order",
        "the worst first, or what was checked last",
        {"enum": list(QualityOrder), "default": QualityOrder.WORST.value},
    ),
)
QUALITY_PARAMETERS = (*_FILTERS, *paging_parameters("pages", 100, MOST_SCORES_ANSWERED))

QUALITY_OPERATIONS = (
    Operation(
        "quality",
        "/api/quality",
        "How captured pages play: totals, and the pages with the lowest scores",
        QUALITY_PARAMETERS,
        QualityAnswer,
        example="/api/quality?limit=5",
    ),
    Operation(
        "exportQuality",
        "/quality/scores.{suffix}",
        "All scores that match as a file",
        (file_parameter(*SCORE_FORMATS), *_FILTERS),
        media_types=("text/csv", "application/json"),
        errors=NOT_FOUND,
    ),
    Operation(
        "qualityPicture",
        "/quality/picture",
        "A screenshot of a page that was checked, or the difference of two",
        (
            Parameter("id", "the capture, as scores have it", required=True),
            Parameter("of", "what it shows", {"enum": list(PictureOf), "default": "crawl"}),
            Parameter("size", "how large it is", {"enum": list(PictureSize), "default": "large"}),
        ),
        media_types=(PICTURE_TYPE,),
        errors=NOT_FOUND,
    ),
)


quality_api_blueprint = Blueprint("quality_api", __name__, url_prefix="/api")


@quality_api_blueprint.get("/quality", endpoint="quality")
def quality_scores() -> ResponseReturnValue:
    """Answer with totals and the scores of matching pages."""
    check_parameters(request.args, QUALITY_PARAMETERS)
    found = scores_of(request.args)[1]
    offset, limit = parameters.paging(request.args, 100, MOST_SCORES_ANSWERED)
    scores = answer_facets(lambda: found.page(offset, limit))
    return json_answer(quality_answer(found.totals, scores))


review_blueprint = Blueprint("reviews", __name__, url_prefix="/quality/review")

VERDICTS = {
    ReviewVerdict.GOOD: lazy_gettext("Good"),
    ReviewVerdict.USABLE: lazy_gettext("Usable"),
    ReviewVerdict.BAD: lazy_gettext("Bad"),
}
_MOST_SKIPPED = 10_000


@review_blueprint.get("", endpoint="show")
def show_next() -> ResponseReturnValue:
    """Show the next page to review, with its screenshots and earlier reviews."""
    own, given = archive(), request.args
    collection = parameters.text(given, "collection", 300)
    reviewer = viewer().user or parameters.text(given, "reviewer", 200)
    skip = parameters.number_parameter(given, "skip", 0, 0, _MOST_SKIPPED)
    score = answer_facets(
        lambda: next(islice(own.review_queue(reviewer, collection), skip, None), None)
    )
    return render_template(
        "review.html",
        score=score,
        pictures=has_pictures(score) if score else (),
        others=own.reviews_of(score.id) if score else (),
        counts=own.review_counts(),
        verdicts=VERDICTS,
        collection=collection,
        reviewer=reviewer,
        skip=skip,
        saved="saved" in given,
        writable=can_judge(),
    )


@review_blueprint.post("", endpoint="save")
@needs_role(Role.CURATOR, or_token=True)
def save_review() -> ResponseReturnValue:
    """Store a verdict, and redirect to the next page."""
    check_sender()
    form = request.form
    reviewer = viewer().user or parameters.text(form, "reviewer", 200)
    archive().review(
        parameters.text(form, "capture", MOST_ID),
        parameters.text(form, "verdict", 20),
        note=parameters.text(form, "note", 5_000),
        marked=parameters.text(form, "marked", 40),
        reviewer=reviewer,
    )
    named = None if viewer().user else reviewer
    collection = parameters.text(request.args, "collection", 300) or None
    address = url_for(".show", collection=collection, reviewer=named, saved="")
    return redirect(address, code=303)


def _csv_lines(found: Rows[Review]) -> Iterator[str]:
    return csv_lines(found.columns, map(found.cells, found))


def _json_lines(found: Rows[Review]) -> Iterator[str]:
    yield json.dumps([asdict(one) for one in found], ensure_ascii=False)


REVIEW_FORMATS = {"csv": ("text/csv", _csv_lines), "json": ("application/json", _json_lines)}
REVIEW_OPERATIONS = (
    Operation(
        "exportReviews",
        "/quality/review/list.{suffix}",
        "What people found of the captures of pages, as a file",
        (file_parameter(*REVIEW_FORMATS),),
        media_types=tuple(media_type for media_type, _ in REVIEW_FORMATS.values()),
        errors=NOT_FOUND,
    ),
)


@review_blueprint.get("/list.<suffix>")
def export(suffix: str) -> ResponseReturnValue:
    """Return all reviews as a file."""
    refusal = lazy_gettext("lists come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(REVIEW_FORMATS, suffix, refusal)
    found = archive().reviews()
    return exported_file(f"reviews.{suffix}", media_type, lambda: write(found))
