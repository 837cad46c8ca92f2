"""Where the explorer's answers come from."""

from collections.abc import Mapping

from nwx.facets.question import FacetAnswer, FacetCondition, FacetQuestion
from nwx.model import Capture
from webapp.explore.api import facets
from webapp.explore.view import ExplorerOrder, ExplorerView
from webapp.links.backend import GraphKey, link_answers
from webapp.site.question_limits import answer_facets


def ask(question: FacetQuestion) -> FacetAnswer:
    """Return the answer of the archive."""
    answers = facets()
    return answer_facets(lambda: answers.answer(question))


def site_ranks(view: ExplorerView) -> Mapping[str, float]:
    """Return the centrality of each site that links or is linked to, where the order asks for it.

    Where links were never inverted, there are none.
    """
    if not view.by_centrality:
        return {}
    answers = link_answers()
    found = answer_facets(lambda: answers.central(GraphKey(domains=True)))
    if found is None:
        return {}
    graph, central = found
    by_pagerank = view.order is ExplorerOrder.PAGERANK
    values = central.pagerank if by_pagerank else central.harmonic
    return dict(zip(graph.hosts, values.tolist(), strict=True))


def captures_behind(
    where: tuple[FacetCondition, ...], offset: int, limit: int
) -> tuple[int, list[Capture]]:
    """Return how many captures meet all conditions, and some of them."""
    answers = facets()
    total, found = answer_facets(lambda: answers.captures(where, offset=offset, limit=limit))
    return total, list(found)
