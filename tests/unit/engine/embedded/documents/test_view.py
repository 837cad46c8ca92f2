"""All document numbers matching a query, listed or read from sums."""

from collections.abc import Iterator

import pytest
from tantivy import Query

from nwx.engine.embedded.documents import view
from nwx.engine.embedded.documents.compile import any_field_query
from nwx.engine.embedded.documents.tantivy_index import DocumentSearcher, Packer, ReadIndex, schema
from nwx.engine.embedded.text_writer import TextWriter
from nwx.engine.entries import document_entry
from tests.unit.engine.embedded.making import page

COUNT = 400


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentSearcher]:
    folder = tmp_path_factory.mktemp("documents")
    writer, packer = TextWriter(folder), Packer()
    for start in range(1, COUNT, 100):
        writer.add(
            packer.document(num, document_entry(page(num, f"by{num % 3}")))
            for num in range(start, min(start + 100, COUNT))
        )
        writer.commit()
    writer.delete([3, 300])
    writer.commit()
    writer.finish()
    index = ReadIndex(schema(), folder)
    yield index.searcher()
    index.close()


@pytest.mark.parametrize(("slot_cost", "most_slots"), [(8, 60_000), (0, 60_000), (0, 3), (0, 1)])
def test_numbers_are_whole_however_they_are_read(
    searcher: DocumentSearcher, slot_cost: int, most_slots: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "_SLOT_COST", slot_cost)
    monkeypatch.setattr(view, "_MOST_SLOTS", most_slots)
    for query, expected in (
        (any_field_query("by1"), [num for num in range(1, COUNT) if num % 3 == 1]),
        (any_field_query("by0"), [num for num in range(6, COUNT, 3) if num != 300]),
        (any_field_query("nothing"), []),
        (Query.all_query(), [num for num in range(1, COUNT) if num not in (3, 300)]),
    ):
        total, first = view.listed_numbers(searcher, query, 10)
        assert total == len(expected)
        assert first.tolist() == expected[:10]
        found = view.all_numbers(searcher, query, total, COUNT)
        assert found.tolist() == expected


def test_numbers_beyond_the_size_are_left_out(
    searcher: DocumentSearcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "_SLOT_COST", 0)
    found = view.all_numbers(searcher, Query.all_query(), COUNT - 3, 103)
    assert set(range(1, 103)) - {3} <= set(found.tolist())
    assert found.max() < 156
