"""Where the explorer's answers come from."""

from nwx.facets.question import Condition, FacetAnswer, FacetQuestion
from nwx.model import Capture
from webapp.facets import facets


def ask(question: FacetQuestion) -> FacetAnswer:
    """Return the answer of the archive."""
    return facets().answer(question)


def captures_behind(
    where: tuple[Condition, ...], offset: int, limit: int
) -> tuple[int, list[Capture]]:
    """Return how many captures meet all conditions, and some of them."""
    total, found = facets().captures(where, offset=offset, limit=limit)
    return total, list(found)
