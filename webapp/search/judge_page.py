"""The page for judging results, blind to the ranking that found them."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from nwx.engine.access.rules import Role
from nwx.errors import UsageError
from nwx.searching.judgements import GRADES, LONGEST_JUDGED_QUERY
from webapp.crawls.editor import can_judge, check_sender
from webapp.login_page import has_role, needs_role
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.parameters import Arguments
from webapp.site.question_limits import answer_search
from webapp.site.viewer import viewer

blueprint = Blueprint("judging", __name__)
_MOST_SKIPPED = 1_000


def _judge(arguments: Arguments) -> str:
    return viewer().user or parameters.text(arguments, "judge", 80)


@blueprint.get("/judge")
def show() -> ResponseReturnValue:
    """Show the queries, or a query's next result that this judge has not judged."""
    query, judge = (
        parameters.text(request.args, "query", LONGEST_JUDGED_QUERY),
        _judge(request.args),
    )
    skipped = parameters.number_parameter(request.args, "skipped", 0, 0, _MOST_SKIPPED)
    own, hits = archive(), []
    if query:
        hits = answer_search(lambda: own.to_judge(query, judge))
    return render_template(
        "judge.html",
        queries=own.judge_queries() if not query else [],
        query=query,
        judge=judge,
        hit=hits[skipped] if skipped < len(hits) else None,
        left=max(len(hits) - skipped, 0),
        skipped=skipped,
        grades=GRADES,
        writable=can_judge(),
        agreements=own.agreement() if not query and has_role(Role.CURATOR) else [],
    )


@blueprint.post("/judge")
@needs_role(Role.CURATOR, or_token=True)
def save() -> ResponseReturnValue:
    """Store a grade or skip a result, and show the next one."""
    check_sender()
    form = request.form
    query, judge = parameters.text(form, "query", LONGEST_JUDGED_QUERY), _judge(form)
    skipped = parameters.number_parameter(form, "skipped", 0, 0, _MOST_SKIPPED)
    grade = parameters.text(form, "grade", 4)
    if grade == "skip":
        skipped += 1
    elif grade.isdecimal() and int(grade) in GRADES:
        archive().judge(query, parameters.text(form, "url", 8_000), int(grade), judge)
    else:
        raise UsageError.translated("a grade is a number from 0 to 3")
    return redirect(url_for(".show", query=query, judge=judge, skipped=skipped or None), 303)
