"""The positions of hidden captures."""

from collections.abc import Collection
from pathlib import Path

from nwx.access.date_decisions import HiddenPlaces, blocks_naming_visible, rows_naming_visible
from nwx.cdx.rows import CdxRow
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.capture_index import CdxBlock, CdxLineForm
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


SECRET, OPEN = "http://secret.example/", "http://open.example/"
ROWS = tuple(
    CdxRow(f"com,{n})/", "20100101000000", f"http://{n}.com/", "-", "301", "-", to, *"----")
    for n, to in enumerate(("-", SECRET, OPEN))
)


def hidden(urls: Collection[str]) -> set[str]:
    assert "-" not in urls
    return {SECRET}.intersection(urls)


def test_rows_come_soon_and_without_hidden_redirects() -> None:
    taken = []
    rows = rows_naming_visible((taken.append(row) or row for row in ROWS * 100), hidden)
    assert next(rows) == ROWS[0]
    assert len(taken) < 20
    found = [next(rows), *rows]
    assert [row.redirect for row in found[:3]] == ["-", OPEN, "-"]
    assert len(found) == 299


def test_lines_lose_hidden_redirects_wherever_they_are() -> None:
    text = f"a - b -\nc {SECRET} d {SECRET}\ne {OPEN} f {OPEN}\n"
    blocks = iter((CdxBlock(text, 3), CdxBlock(rows=ROWS), CdxBlock("x y z w\n", 1)))
    first, second, third = blocks_naming_visible(blocks, CdxLineForm((0, 6, 1, 6), False), hidden)
    assert first == CdxBlock(f"a - b -\nc - d -\ne {OPEN} f {OPEN}\n", 3)
    assert [row.redirect for row in second.rows] == ["-", "-", OPEN]
    assert third.text == "x y z w\n"


def test_lines_without_redirects_are_passed_through() -> None:
    block = CdxBlock(f"a {SECRET}\n", 1)
    assert list(blocks_naming_visible(iter((block,)), CdxLineForm((0, 2), False), hidden)) == [
        block
    ]
