"""The chart of a host graph is drawn with any host names."""

import xml.etree.ElementTree as ET

import pytest

from nwx.charts import fields
from nwx.charts.fields import drawable
from nwx.charts.pictures import draw_picture
from nwx.charts.treemap import DIRECTIONS, link_graph, named_points, sized_link_graph

NAMES = ("example.org", "</text><script>alert(1)</script>", "{{7*7}} \\u0041 '", "\x00\u202e")


@pytest.mark.parametrize("scheme", fields.SCHEMES)
def test_hosts_and_links_are_drawn(scheme: str) -> None:
    hosts = [
        {
            "host": drawable(name),
            "x": place / 3,
            "y": place % 2,
            "value": place,
            "captured": ("captured", "never captured")[place % 2],
            "centre": not place,
        }
        for place, name in enumerate(NAMES)
    ]
    first, last = hosts[0], hosts[-1]
    ends = {"x": first["x"], "y": first["y"], "x2": last["x"], "y2": last["y"]}
    links = [
        {"source": "a", "target": "b", "links": 10**place, "direction": name, **ends}
        for place, name in enumerate(DIRECTIONS)
    ]
    spec = sized_link_graph(link_graph(hosts, links, "Documents"), 600)
    drawn = draw_picture(spec, fields.config(scheme, background=True), "svg").decode()
    root = ET.fromstring(drawn)
    texts = {one.text for one in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {drawable(name) for name in NAMES[:3]} <= texts
    assert set(DIRECTIONS) <= texts
    assert "<script" not in drawn


def test_names_of_points_do_not_pile_up() -> None:
    hosts = [
        {
            "host": f"host-{place:02}.long-name.example",
            "x": place % 5 / 25,
            "y": place // 5 / 50,
            "value": place,
            "captured": "captured",
            "centre": not place,
        }
        for place in range(40)
    ]
    found = named_points(hosts)
    narrow = [one["host"] for one in found if one["narrow"]]
    assert hosts[0]["host"] in narrow and hosts[39]["host"] in narrow
    assert len(narrow) <= sum(one["wide"] for one in found) < 20
    for width, shown in ((330, "narrow"), (700, "wide")):
        drawn = draw_picture(
            sized_link_graph(link_graph(hosts, [], "Documents"), width), {}, "svg"
        ).decode()
        assert drawn.count(".example</text>") + drawn.count("…</text>") == sum(
            one[shown] for one in found
        )


def test_a_graph_without_links_is_drawn() -> None:
    host = {"host": "a", "x": 0.5, "y": 0.5, "value": 0, "captured": "captured", "centre": True}
    spec = sized_link_graph(link_graph([host], [], "Documents"), 300)
    assert b"<svg" in draw_picture(spec, fields.config("light"), "svg")
