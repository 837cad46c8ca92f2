"""Entries of all links, counted together, equal the counts of each URL and cell alone."""

from functools import partial
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.inlinks import link_entries
from nwx.engine.inlinks.link_entries import cell_order, inlink_entry, table_entries
from nwx.engine.inlinks.links import target_links
from nwx.engine.inlinks.table import inlink_table
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.model import LinkCounts
from tests.links import random_batches


@pytest.mark.parametrize(("seed", "at_once"), [(1, 20_000), (2, 7), (3, 1)])
def test_entries_are_those_of_each_url_and_cell(
    tmp_path: Path, seed: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_entries, "_LINKS_AT_ONCE", at_once)
    with EmbeddedEngine(tmp_path / "archive") as engine:
        for batch in random_batches(seed):
            engine.write(batch)
        engine.refresh()
        reopen = partial(EmbeddedEngine, tmp_path / "archive", read_only=True)
        invert_links(engine, reopen, InlinkBuildOptions(workers=1))
        table = inlink_table(engine.inlink_index())
    assert table is not None
    expected = []
    for number in range(len(table.notes.ranges)):
        for urlkey in table.range(number).keys.all():
            links = target_links(table, urlkey)
            assert links is not None
            counts = [(cell, links.counts(cell)) for cell in sorted(table.cells, key=cell_order)]
            expected += [inlink_entry(urlkey, *one) for one in counts if one[1] != LinkCounts()]
    assert len(expected) > 100
    found = list(table_entries(table))
    assert found == expected
    assert [list(one.get("kinds", ())) for one in found] == [
        list(one.get("kinds", ())) for one in expected
    ]
