"""Documents come through a pipe as they were sent."""

import pickle
from io import BytesIO
from multiprocessing.reduction import ForkingPickler

import pytest

from nwx.importing import messages
from nwx.importing.messages import FilePart
from nwx.model import Batch, Document, Extract, Link
from tests.conformance.archive import capture


@pytest.mark.parametrize("links", [(), (Link("http://b/", "b", "a"), Link("http://c/", "", "img"))])
def test_extracts_and_captures_are_what_they_were(links: tuple[Link, ...]) -> None:
    assert messages.Message
    found = capture("http://a.example/")
    part = FilePart(
        Batch(documents=(Document(found, Extract(content="text", links=links)),)),
        (),
        {},
        0,
        1,
        0,
        5,
    )
    stream = BytesIO()
    ForkingPickler(stream).dump(part)
    assert pickle.loads(stream.getvalue()) == part
