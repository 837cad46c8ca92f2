"""Where the explorer's answers come from."""

from flask import current_app

from nwx.facets.answering import Facets
from nwx.facets.question import Condition, FacetAnswer, FacetQuestion
from nwx.model import Capture
from webapp.context import engine

EXTENSION = "nwx-facets"


def ask(question: FacetQuestion) -> FacetAnswer:
    """Return the answer of the archive."""
    facets: Facets = current_app.extensions.setdefault(EXTENSION, Facets(engine()))
    return facets.answer(question)


def captures_behind(
    where: tuple[Condition, ...], offset: int, limit: int
) -> tuple[int, list[Capture]]:
    """Return how many captures meet all conditions, and some of them."""
    raise NotImplementedError
