"""The pages of entities: a list, and where, when and with whom each is mentioned."""

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.errors import UsageError
from nwx.steering.specifications.specification import EntityKind
from webapp.entities.backend import triple_answers
from webapp.search.bars import year_bars
from webapp.site import parameters

blueprint = Blueprint("entities", __name__, url_prefix="/entities")

ENTITIES_A_PAGE = 50
_MOST_PAGES = 1_000
_LONGEST_NAME = 200


@blueprint.get("", endpoint="show")
def show_entities() -> ResponseReturnValue:
    """List entities, those that most captures mention first; or show one."""
    if "iri" in request.args:
        return _entity(parameters.text(request.args, "iri", 2_000))
    text = parameters.text(request.args, "q", _LONGEST_NAME)
    kind = _kind(parameters.text(request.args, "kind", 50))
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    answers = triple_answers()
    store = answers.store()
    if store is None:
        return render_template("entities.html", rows=None)
    begin = (page - 1) * ENTITIES_A_PAGE
    rows = answers.ask(
        store, lambda ask: ask.entities(text, kind, limit=ENTITIES_A_PAGE + 1, offset=begin)
    )
    return render_template(
        "entities.html",
        rows=rows[:ENTITIES_A_PAGE],
        more=len(rows) > ENTITIES_A_PAGE,
        page=page,
        text=text,
        kind=kind,
        kinds=list(EntityKind),
    )


def _kind(name: str) -> EntityKind | None:
    if not name:
        return None
    if name not in set(EntityKind):
        raise UsageError(parameters.not_a_choice("kind", name, EntityKind))
    return EntityKind(name)


def _entity(iri: str) -> ResponseReturnValue:
    year = parameters.number_parameter(request.args, "year", 0, 0, 9999)
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    answers = triple_answers()
    store = answers.store()
    facts = answers.ask(store, lambda ask: ask.facts(iri)) if store else None
    if store is None or facts is None:
        raise NotFound(gettext("this archive knows no entity %(iri)s", iri=iri))
    begin = (page - 1) * ENTITIES_A_PAGE
    captures = answers.ask(
        store,
        lambda ask: ask.captures(
            iri, f"{year:04}" if year else "", limit=ENTITIES_A_PAGE + 1, offset=begin
        ),
    )
    bars = year_bars(
        dict(facts.years),
        lambda one: url_for(".show", iri=iri, year=None if int(one) == year else one),
        [f"{year:04}"],
    )
    return render_template(
        "entity.html",
        facts=facts,
        captures=captures[:ENTITIES_A_PAGE],
        more=len(captures) > ENTITIES_A_PAGE,
        page=page,
        year=year,
        bars=bars,
    )
