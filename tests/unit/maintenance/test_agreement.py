"""Writes during a check of an archive do not look like faults."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.access.access_index import noted_purge
from nwx.engine.access.rules import AccessRule, Action, Scope, checked_rule
from nwx.engine.base import open_engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.maintenance.agreement import CHANGED, check
from nwx.maintenance.holdings import measure, unknown_sizes
from nwx.model import Batch, IndexName, SourceFile
from nwx.settings import Settings
from tests.conformance.archive import also, batch, page


def ledger(done_to: int, captures: int) -> Batch:
    counts = {"captures": captures}
    file = SourceFile("web", "a.warc.gz", "/a.warc.gz", 100, "x", done_to, True, counts)
    return Batch(files=(file,))


class WrittenTo(EmbeddedEngine):
    """An archive to which, while `is_importing`, an import writes when its captures are read."""

    is_importing = False

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        if self.is_importing and index is IndexName.CAPTURES:
            self.write(ledger(100, 7))
            self.refresh()
        return super().scan(index)


@pytest.mark.parametrize("is_importing", [False, True])
def test_what_an_import_changes_meanwhile_is_no_disagreement(
    tmp_path: Path, is_importing: bool
) -> None:
    with WrittenTo(tmp_path / "archive") as engine:
        engine.create()
        engine.write(ledger(50, 3))
        engine.refresh()
        engine.is_importing = is_importing
        [found] = check(engine)
        assert found.kind == (CHANGED if is_importing else "ledger")
        assert ("no import is running" in found.message) == is_importing
        engine.is_importing = False
        [found] = check(engine)
        assert found.kind == "ledger"


def test_a_purge_that_was_stopped_is_told_first(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.write(ledger(50, 3))
        access = engine.access_index()
        rule = AccessRule("", Action.EXCLUDE, Scope(collection="web"), purged=True)
        [rule] = access.put([checked_rule(rule)], "the librarian")
        with pytest.raises(KeyboardInterrupt), noted_purge(access, rule.id):
            raise KeyboardInterrupt
        found = next(check(engine))
        assert (found.kind, found.id) == ("purge", rule.id)
        other = AccessRule("", Action.EXCLUDE, Scope(collection="b"), purged=True)
        [other] = access.put([checked_rule(other)], "the librarian")
        with noted_purge(access, other.id):
            # Two purges that begin at once both write before either reads.
            state = access.state
            access.state = lambda name: None  # type: ignore[method-assign]
            with noted_purge(access, rule.id):
                access.state = state  # type: ignore[method-assign]
                assert {one.id for one in check(engine)} >= {rule.id, other.id}
        assert "purge" not in {one.kind for one in check(engine)}


def test_entries_and_bytes_of_each_index_are_told(tmp_path: Path) -> None:
    pages = [page("http://a.example/", "2010", "one"), page("http://b.example/", "2011", "two")]
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as engine:
        engine.write(batch(pages, [also(pages[0], "2012")]))
        found = measure(engine)
        assert found.keys() == unknown_sizes().keys()
        assert found["bytes"].keys() == unknown_sizes()["bytes"].keys()
    sizes = found.pop("bytes")
    assert found.pop("attached") == {}
    assert {name: found[name] for name in ("documents", "dates", "captures", "files")} == {
        "documents": 2,
        "dates": 2,
        "captures": 2,
        "files": 0,
    }
    assert set(sizes) == set(found)
    assert sizes["captures"] is None or sizes["captures"] > 0
