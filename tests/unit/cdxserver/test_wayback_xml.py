"""The XML that OpenWayback asks for."""

from xml.etree import ElementTree

import pytest

from nwx.cdxserver.parameters import parameters_of
from nwx.cdxserver.wayback_xml import answer_xml
from nwx.errors import CdxQueryError
from tests.unit.cdxserver.rows import ListSource, row

SOURCE = ListSource(
    [
        row("", "20100101000000"),
        row("", "20120101000000"),
        row("b", "20110101000000", redirect="<&"),
    ]
)


def asked(q: str) -> ElementTree.Element:
    pieces = answer_xml(parameters_of(f"q={q}"), SOURCE)
    return ElementTree.fromstring(b"".join(pieces))


def test_captures_of_a_url_with_the_closest_marked() -> None:
    root = asked("type:urlquery+url:http%253A%252F%252Fa.example%252F+date:20111201000000")
    results = root.findall("results/result")
    assert [one.findtext("capturedate") for one in results] == ["20100101000000", "20120101000000"]
    assert [one.findtext("closest") for one in results] == [None, "true"]
    assert root.findtext("request/numreturned") == "2"


def test_urls_that_begin_so() -> None:
    results = asked("type:prefixquery+url:http%253A%252F%252Fa.example%252F").findall(
        "results/result"
    )
    assert [one.findtext("numcaptures") for one in results] == ["2", "1"]


def test_values_are_escaped() -> None:
    results = asked("url:http%253A%252F%252Fa.example%252Fb").findall("results/result")
    assert results[0].findtext("redirecturl") == "<&"


def test_nothing_found_is_said() -> None:
    root = asked("url:http%253A%252F%252Fnowhere.example%252F")
    assert root.findtext("error/title") == "Resource Not In Archive"


@pytest.mark.parametrize("q", ["", "nonsense", "type:other+url:a", "type:urlquery"])
def test_what_makes_no_sense_is_an_error(q: str) -> None:
    with pytest.raises(CdxQueryError):
        asked(q)
