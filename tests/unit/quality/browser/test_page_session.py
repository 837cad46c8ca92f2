from typing import Any

from nwx.quality.browser.page_session import snapshot_text

STRINGS = [
    "#document",
    "BODY",
    "P",
    "#text",
    " Hello ",
    "SCRIPT",
    "let x",
    "HEADER",
    "Menu",
    " \n ",
]


def document(*nodes: tuple[int, int, int, int]) -> dict[str, Any]:
    """Return a document of nodes given as name, kind, value and parent."""
    names, kinds, values, parents = zip(*nodes, strict=True)
    return {
        "nodes": {
            "nodeName": names,
            "nodeType": kinds,
            "nodeValue": values,
            "parentIndex": parents,
        }
    }


PAGE = document(
    (0, 9, -1, -1),
    (1, 1, -1, 0),
    (2, 1, -1, 1),
    (3, 3, 4, 2),
    (5, 1, -1, 1),
    (3, 3, 6, 4),
    (7, 1, -1, 1),
    (3, 3, 8, 6),
    (3, 3, 9, 1),
)


def test_each_text_node_is_a_line_but_for_those_that_are_no_text_of_the_page() -> None:
    assert snapshot_text({"strings": STRINGS, "documents": [PAGE]}, 100) == "Hello"


def test_frames_follow_and_there_is_an_end() -> None:
    snapshot = {"strings": STRINGS, "documents": [PAGE, PAGE, PAGE]}
    assert snapshot_text(snapshot, 100) == "Hello\nHello\nHello"
    assert snapshot_text(snapshot, 8) == "Hello\nHe"
