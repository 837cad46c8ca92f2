"""Pairs of pages and what they lack."""

import numpy as np
import pytest

from nwx.engine.indices.quality_index import Fault
from nwx.quality.missing_resources import kind_of_resource, lacks_of
from nwx.values.fault_kinds import FaultKind


def test_each_pair_counts_once() -> None:
    found = lacks_of(np.array([2, 0, 2, 2]), np.array([1, 0, 1, 0]), 3, np.array([0, 0, 0, 1]))
    assert list(zip(found.page.tolist(), found.resource.tolist(), strict=True)) == [
        (0, 0),
        (2, 0),
        (2, 1),
    ]
    assert found.pages_by_resource().tolist() == [2, 1, 0]
    assert found.broken_pages() == 3


def test_resources_in_another_order() -> None:
    found = lacks_of(np.array([0, 1]), np.array([0, 2]), 3, np.array([0, 0]))
    turned = found.in_order(np.array([2, 1, 0]))
    assert turned.resource.tolist() == [2, 0]
    assert turned.pages_by_resource().tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("http://a.test/s.css?v=1", "stylesheet"),
        ("http://a.test/i.PNG", "img"),
        ("http://a.test/f.woff2?#x", "css"),
        ("http://a.test/s.js", "script"),
        ("http://a.test/v.mp4", "media"),
        ("http://a.test/frame.html", "frame"),
        ("http://a.test/api", ""),
        ("http://[", ""),
    ],
)
def test_kinds(url: str, kind: str) -> None:
    assert kind_of_resource(Fault(FaultKind.MISSING, url)) == kind
