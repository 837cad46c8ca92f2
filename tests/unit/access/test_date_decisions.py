"""Where hidden captures are."""

from pathlib import Path

from nwx.access.date_decisions import HiddenPlaces
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Batch
from tests.conformance.archive import capture


def test_places_of_hidden_captures_follow_the_archive(tmp_path: Path) -> None:
    rules = AccessRules((AccessRule("a", Action.BLOCK, Scope(prefix="example,a)/")),), "1")
    with EmbeddedEngine(tmp_path / "engine") as engine:
        engine.write(Batch(captures=(capture("http://a.example/", offset=7),)))
        engine.refresh()
        places = HiddenPlaces(engine.facet_store(), rules.for_viewer(EVERYBODY))
        assert {name: list(some) for name, some in places.current().items()} == {
            "web/a.warc.gz": [7]
        }
        later = (capture("http://b.example/", offset=8), capture("http://a.example/x", offset=9))
        engine.write(Batch(captures=later))
        engine.refresh()
        assert list(places.current()["web/a.warc.gz"]) == [7, 9]
