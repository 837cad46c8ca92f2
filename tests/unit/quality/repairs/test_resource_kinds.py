"""The kinds of resources by their URLs."""

import pytest

from nwx.engine.quality.quality_index import Fault
from nwx.quality.repairs.resource_kinds import kind_of_resource
from nwx.values.fault_kinds import FaultKind


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
