"""Links of elements, each with its kind."""

import pytest

from nwx.extract.lexbor import read_lexbor
from nwx.extract.link_elements import element_links
from nwx.extract.soup import read_soup
from nwx.values.link_kinds import EMBEDDED, KINDS, NAVIGATIONAL


@pytest.mark.parametrize("read", [read_lexbor, read_soup])
@pytest.mark.parametrize(
    ("markup", "links"),
    [
        ("<a href=x>T</a>", [("a", "x", "T")]),
        ("<iframe src=x></iframe>", [("frame", "x", "")]),
        ("<link rel='Shortcut ICON' href=x>", [("icon", "x", "")]),
        ("<link rel=apple-touch-icon href=x>", [("icon", "x", "")]),
        ("<link rel=stylesheet href=x>", [("stylesheet", "x", "")]),
        ("<link rel='alternate stylesheet' href=x>", [("stylesheet", "x", "")]),
        ("<link rel=alternate href=x>", [("alternate", "x", "")]),
        ("<link rel=canonical href=x>", [("canonical", "x", "")]),
        ("<link rel=next href=x>", [("link", "x", "")]),
        ("<link href=x>", [("link", "x", "")]),
        ("<link rel=preload as=style href=x>", [("stylesheet", "x", "")]),
        ("<link rel=preload as=font href=x>", [("css", "x", "")]),
        ("<link rel=preload as=fetch href=x>", [("link", "x", "")]),
        (
            "<link rel=preload as=image href=x imagesrcset='y 1x,z 2x'>",
            [("img", "x", ""), ("img", "y", ""), ("img", "z", "")],
        ),
        (
            "<video src=v poster=p><source src=s><track src=t></video>",
            [("media", "v", ""), ("img", "p", ""), ("media", "s", ""), ("media", "t", "")],
        ),
        (
            "<picture><source srcset='a 1x,b 2x'><img src=c alt=C></picture>",
            [("img", "a", ""), ("img", "b", ""), ("img", "c", "C")],
        ),
        ("<object data=x></object><embed src=y>", [("media", "x", ""), ("media", "y", "")]),
        ("<input type=image src=x alt=Go>", [("img", "x", "Go")]),
        ("<meta http-equiv=refresh content='0;url=x'>", [("refresh", "x", "")]),
        ("<link rel=stylesheet><img><a>no</a>", []),
    ],
)
def test_links_have_kinds(read: object, markup: str, links: list[tuple[str, str, str]]) -> None:
    found = list(element_links(read(f"<html><body>{markup}</body></html>")))  # type: ignore[operator]
    assert found == links
    assert {kind for kind, _, _ in found} <= set(KINDS)


def test_no_kind_is_both_embedded_and_navigational() -> None:
    assert not EMBEDDED & NAVIGATIONAL
    assert set(KINDS) >= EMBEDDED | NAVIGATIONAL
