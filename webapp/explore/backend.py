"""Where the explorer's answers come from."""

from nwx.facets.question import FacetAnswer, FacetCondition, FacetQuestion
from nwx.model import Capture
from webapp.explore.api import facets
from webapp.site.question_limits import answer_facets


def ask(question: FacetQuestion) -> FacetAnswer:
    """Return the answer of the archive."""
    answers = facets()
    return answer_facets(lambda: answers.answer(question))


def captures_behind(
    where: tuple[FacetCondition, ...], offset: int, limit: int
) -> tuple[int, list[Capture]]:
    """Return how many captures meet all conditions, and some of them."""
    answers = facets()
    total, found = answer_facets(lambda: answers.captures(where, offset=offset, limit=limit))
    return total, list(found)
