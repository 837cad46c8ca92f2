"""An engine behaves as its traits declare."""

from collections.abc import Iterator, Sequence

import pytest

from nwx.engine.base import Engine
from nwx.model import Capture, IndexName
from tests.conformance.archive import capture
from tests.conformance.engines import Opener

CAPTURES = [capture(f"http://example.org/{n}", "2010", offset=n) for n in range(3)]


def test_live_selections_are_given_where_declared(engine: Engine) -> None:
    given = engine.facet_store().live_selection()
    assert (given is not None) is engine.traits.live_selections


def test_nothing_is_loaded_of_what_fails(open_archive: Opener) -> None:
    def broken() -> Iterator[Sequence[Capture]]:
        yield CAPTURES[:2]
        raise ValueError("the input ends here")

    with open_archive() as engine:
        with pytest.raises(ValueError, match="ends here"):
            engine.load_captures(broken())
        assert engine.count(IndexName.CAPTURES) == 0
        assert engine.load_captures([CAPTURES]) == 3
