from array import array

from nwx.steering.simulation.page_graph import GraphPage, PageGraph


def test_a_page_is_analysed_once() -> None:
    asked = []

    def analyse(number: int) -> GraphPage:
        asked.append(number)
        return GraphPage(0.5, array("l"), array("d"))

    web = PageGraph(["a.org", "b.org"], analyse, 0.5)
    assert web.is_relevant(1)
    assert web.page(1) is web.page(1)
    assert (len(web), asked) == (2, [1])
