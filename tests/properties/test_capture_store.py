"""Captures stored in a folder equal those of a sorted in-memory list."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.cdx.layouts import CDX_FIELDS
from nwx.engine.capabilities import Damage
from nwx.engine.capture_index import CdxLineForm, CdxSpan
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.captures import blocks, capture_writer, cdx_order, entries, merges
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.table_damage import table_damage
from nwx.keys import capture_id, document_id, document_key
from nwx.model import Capture, IndexName

TEXTS = st.sampled_from(("", "a", "b b", "é\x1f", "\x1d\x1d", "\U0001f600", "x" * 40))
TIMES = ("20100101000000", "20100101000001", "20101231235959", "20200229120000", "00010101000000")
DIGESTS = ("", "sha1:A", "sha1:AAAAAAAAAAAAAAAA", "sha1:BAAAAAAAAAAAAAAA", "md5:AAAAAAAAAAAAAAAA")


PLAIN = st.sampled_from(("", "a"))


@st.composite
def captures(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> Capture:
    url = f"http://{draw(st.sampled_from('abc'))}.org/{draw(st.integers(0, 3))}"
    digest = draw(st.sampled_from(DIGESTS))
    return Capture(
        collection=draw(st.sampled_from(("web", "other"))),
        source_file=draw(st.sampled_from(("a.warc", "b.warc", "c c.warc"))),
        source_file_offset=draw(st.one_of(st.integers(0, 9), st.just(10**17))),
        record_length=draw(st.sampled_from((None, 0, 7))),
        record_type=draw(st.sampled_from(("response", "response", "revisit"))),
        url=url + draw(texts),
        urlkey=f"org,{url[7]})/{url[-1]}" + draw(texts),
        host="x",
        domain="y",
        public_suffix="z",
        timestamp=draw(st.sampled_from(TIMES)),
        digest=digest,
        document_id="",
        status_code=draw(st.sampled_from((None, 200, 404))),
        content_type=draw(st.sampled_from(("", "text/html", "warc/x"))),
        content_type_norm="html",
        content_length=draw(st.sampled_from((None, 3))),
        redirect_to=draw(texts),
        method=draw(st.sampled_from(("GET", "POST"))),
        via=draw(texts),
    )


CHANGES = st.sampled_from((TEXTS, PLAIN)).flatmap(
    lambda texts: st.lists(
        st.one_of(
            st.lists(captures(texts), min_size=1, max_size=12),
            st.sets(st.integers(0, 30), min_size=1, max_size=8),
        ),
        min_size=1,
        max_size=8,
    )
)
"""Loads, and deletions of captures by their positions in the list."""


def place(one: Capture) -> tuple[str, str, str, int, str]:
    return one.urlkey, one.timestamp, one.source_file, one.source_file_offset, one.collection


def id_of(one: Capture) -> str:
    return capture_id(one.collection, one.source_file, one.source_file_offset)


def with_document(one: Capture) -> Capture:
    key = document_key(one.url, one.digest)
    return one._replace(document_id=document_id(key) if one.digest else "")


@pytest.fixture(autouse=True, scope="module")
def small() -> Iterator[None]:
    """Reduce the sizes of blocks, loads and merges, so that a few captures reach all of them."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (blocks, capture_writer, cdx_order):
            patch.setattr(module, "BLOCK_CAPTURES", 3)
        patch.setattr(entries, "PACKED_ENTRIES", 4)
        patch.setattr(entries, "_FEW", 3)
        patch.setattr(cdx_order, "SORTED_AT_ONCE", 5)
        patch.setattr(capture_writer, "STEP_BLOCKS", 1)
        patch.setattr(merges, "MERGED_AT_ONCE", 4)
        patch.setattr(merges, "FEW_CAPTURES", 9)
        yield


def changed(
    engine: EmbeddedEngine, held: list[Capture], change: Sequence[Capture] | set[int]
) -> None:
    """Apply a change to the archive and to the list, and compare the number of changed captures."""
    if isinstance(change, set):
        gone = [held[number] for number in sorted(change, reverse=True) if number < len(held)]
        assert engine.unload_captures(map(id_of, gone)) == len(gone)
        held[:] = [one for one in held if one not in gone]
        return
    known = {id_of(one) for one in held}
    new = {id: one for one in reversed(change) if (id := id_of(one)) not in known}
    assert engine.load_captures([[one] for one in change]) == len(new)
    held[:] = sorted([*held, *map(with_document, new.values())], key=place)


def lines(engine: EmbeddedEngine, span: CdxSpan) -> list[str]:
    """Return the lines of a span, from texts or from rows."""
    form = CdxLineForm(tuple(range(len(CDX_FIELDS))), bare_digests=True)
    found: list[str] = []
    for block in engine.cdx_blocks(span, form) or ():
        bare = (row._replace(digest=row.digest.rpartition(":")[2] or "-") for row in block.rows)
        found += [" ".join(row[: len(CDX_FIELDS)]) for row in bare]
        found += block.text.split("\n")[:-1]
    return found


def spans(urlkeys: Iterable[str]) -> Iterable[CdxSpan]:
    exact = [(f"{key} ", f"{key}!") for key in urlkeys if " " not in key]
    for start, end in (
        *exact[:3],
        ("", "\U0010ffff"),
        ("org,a)/1", "org,b)/2"),
        ("org,b)/1 2010", "org,b)/1 2011"),
    ):
        for collection in ("", "web"):
            for revisits in (None, True, False):
                yield CdxSpan(start, end, False, collection, revisits)


def compared(engine: EmbeddedEngine, held: list[Capture]) -> None:
    assert engine.count(IndexName.CAPTURES) == len(held)
    assert list(engine.captures("", "\U0010ffff")) == held
    for span in spans(dict.fromkeys(one.urlkey for one in held)):
        first, since, last, until = span.bounds()
        wanted = [
            one
            for one in held
            if (first, since) <= (one.urlkey, one.timestamp) < (last, until)
            and span.collection in ("", one.collection)
            and span.revisits in (None, one.record_type == "revisit")
        ]
        rows = list(engine.cdx_rows(span))
        assert [(*row[:2], row.filename, int(row.offset), row.collection) for row in rows] == list(
            map(place, wanted)
        )
        assert list(engine.cdx_rows(replace(span, newest_first=True))) == rows[::-1]
        bare = [row._replace(digest=row.digest.rpartition(":")[2] or "-") for row in rows]
        assert lines(engine, span) == [" ".join(row[: len(CDX_FIELDS)]) for row in bare]
        marks = [f"{row.urlkey} {row.timestamp}" for row in rows]
        assert list(engine.cdx_marks(span, 3)) == marks[::3]
    for digest in DIGESTS[1:]:
        for urlkey in ("", "org,a)/1"):
            with_it = [
                one
                for one in held
                if one.digest == digest
                and one.record_type != "revisit"
                and urlkey in ("", one.urlkey)
            ]
            with_it.sort(key=lambda one: (one.source_file, one.source_file_offset, one.collection))
            with_it.sort(key=lambda one: one.timestamp, reverse=True)
            assert list(engine.captures_by_digest(digest, urlkey)) == with_it
    store = engine.facet_store()
    places = [(id.rpartition("@")[0], one.source_file_offset) for one in held if (id := id_of(one))]
    assert store.captures_at([("none/x", 1), *places]) == held
    assert sum(len(some.rows) for some in store.capture_rows(["201001"])) == sum(
        one.timestamp.startswith("201001") for one in held
    )
    assert set(store.month_stamps()) == {one.timestamp[:6] for one in held}


def damage(engine: EmbeddedEngine, path: Path) -> list[Damage]:
    engine.refresh()
    with closing(connect(path / "archive.sqlite", read_only=True)) as db:
        return list(table_damage(db))


@settings(deadline=None, max_examples=15)
@given(changes=CHANGES)
def test_it_answers_as_a_sorted_list_does(changes: list[list[Capture] | set[int]]) -> None:
    held: list[Capture] = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "archive"
        with EmbeddedEngine(path) as engine:
            for change in changes:
                changed(engine, held, change)
            compared(engine, held)
            assert damage(engine, path) == []


@settings(deadline=None, max_examples=15)
@given(changes=CHANGES, stop=st.integers(0, 20))
def test_who_goes_on_from_a_mark_gets_what_was_stored_since(
    changes: list[list[Capture] | set[int]], stop: int
) -> None:
    held: list[Capture] = []
    with TemporaryDirectory() as folder, EmbeddedEngine(Path(folder) / "archive") as engine:
        engine.load_captures(())
        mark, got, until = "", dict[str, Capture](), ""
        for change in changes:
            changed(engine, held, change)
            until = engine.capture_mark()
            for number, (one, behind) in enumerate(engine.captures_since(mark, until)):
                got[id_of(one)] = one
                mark = behind
                if number == stop:
                    break
            else:
                mark = until
        got.update((id_of(one), one) for one, _ in engine.captures_since(mark))
        assert {id_of(one): one for one in held}.items() <= got.items()
        assert not list(engine.captures_since(engine.capture_mark()))
