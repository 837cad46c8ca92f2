"""Captures and texts as rows."""

from dataclasses import replace

from nwx.importing.extracted.rows import columns_of, extract_of, row_capture
from nwx.model import Document, Extract, Link
from tests.conformance.archive import capture

HELD = capture("http://a.example/", "2015", body="a")
OTHER = replace(capture("http://a.example/b", "2016", body="b"), source_file_offset=900)
FOUND = Extract(
    title="Größe",
    content="a text",
    headings=("one", "two"),
    links=(Link("http://b.example/", "b", "a"), Link("http://c.example/", "", "img")),
    problems=("size: cut",),
)


def test_rows_give_captures_and_texts_back() -> None:
    columns = columns_of([HELD, OTHER], [Document(HELD, FOUND)])
    first, second = (
        {name: values[number] for name, values in columns.items()} for number in range(2)
    )
    assert (row_capture(first), extract_of(first)) == (HELD, FOUND)
    assert (row_capture(second), extract_of(second)) == (OTHER, None)


def test_a_document_without_text_is_one() -> None:
    columns = columns_of([HELD], [Document(HELD, Extract())])
    assert extract_of({name: values[0] for name, values in columns.items()}) == Extract()


def test_half_signs_are_replaced_as_engines_do_it() -> None:
    columns = columns_of([HELD], [Document(HELD, Extract(title="a\ud800"))])
    assert columns["title"] == ["a\ufffd"]
