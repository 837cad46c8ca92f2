"""The pages of reviews: the queue of checked pages, the verdict form, all reviews as a file."""

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import lazy_gettext

from nwx.answers.tables import Rows
from nwx.engine.access.rules import Role
from nwx.quality.scores import Review, ReviewVerdict
from nwx.values.records import csv_lines
from webapp.crawls.page import check_sender, is_writable
from webapp.quality.page import MOST_ID, has_pictures
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import NOT_FOUND, Operation, file_parameter
from webapp.site.question_limits import answer_facets
from webapp.site.responses import exported_file, form_of
from webapp.site.viewer import viewer
from webapp.users.login_page import needs_role

blueprint = Blueprint("reviews", __name__, url_prefix="/quality/review")

VERDICTS = {
    ReviewVerdict.GOOD: lazy_gettext("Good"),
    ReviewVerdict.USABLE: lazy_gettext("Usable"),
    ReviewVerdict.BAD: lazy_gettext("Bad"),
}
_MOST_SKIPPED = 10_000


@blueprint.get("", endpoint="show")
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
        writable=is_writable(),
    )


@blueprint.post("", endpoint="save")
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


@blueprint.get("/list.<suffix>")
def export(suffix: str) -> ResponseReturnValue:
    """Return all reviews as a file."""
    refusal = lazy_gettext("lists come as %(choices)s, not as %(suffix)s")
    media_type, write = form_of(REVIEW_FORMATS, suffix, refusal)
    found = archive().reviews()
    return exported_file(f"reviews.{suffix}", media_type, lambda: write(found))
