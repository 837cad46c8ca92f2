"""Captures are loaded from CDX lines and deleted again, atomically."""

import json
from collections.abc import Iterator

import pytest

from nwx.cdxserver.loaded_lines import load_lines, unload_lines
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxSpan
from nwx.errors import CdxError
from nwx.maintenance.agreement import check
from nwx.model import Batch, Capture
from tests.conformance.archive import capture, sha1
from tests.conformance.engines import Opener, new_archive

ABOVE_ENGINES = ("test_one_bad_line_and_nothing_is_stored",)

EVERYTHING = CdxSpan("", "\U0010ffff")
DIGEST = sha1("page")
CDX11 = f"- 20200101000000 http://a.example/ text/html 200 {DIGEST[5:]} - - 333 5 x.warc.gz"
LINES = {
    "9 fields": f"- 20200101000000 http://a.example/ text/html 200 {DIGEST[5:]} - 5 x.warc.gz",
    "10 fields": f"- 20200101000000 http://a.example/ text/html 200 {DIGEST} - - 5 x.warc.gz",
    "11 fields": CDX11,
    "14 fields": f"{CDX11} - - -",
    "CDXJ": "wrong)/ 20200101000000 "
    + json.dumps(
        {
            "url": "http://a.example/",
            "mime": "text/html",
            "status": "200",
            "digest": DIGEST,
            "offset": "5",
            "filename": "x.warc.gz",
        }
    ),
}
BAD = {
    "nothing at all": "nonsense",
    "no place": f"- 20200101000000 http://a.example/ text/html 200 {DIGEST} 5",
    "no file": f"- 20200101000000 http://a.example/ - - {DIGEST} - - 5 5 -",
    "a date that is none": CDX11.replace("20200101000000", "20201301000000"),
    "a digest that is none": CDX11.replace(DIGEST[5:], "short"),
    "a status that is none": CDX11.replace(" 200 ", " OK "),
    "a URL that is too long": CDX11.replace("http://a.example/", f"http://{'a' * 20_000}"),
}


@pytest.fixture(scope="module")
def shared(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """An archive shared by the cases of the module, each of which deletes what it loaded."""
    with new_archive(kind, tmp_path_factory.mktemp(kind), request) as opener:
        with opener() as made:
            made.create()
        with opener() as engine:
            yield engine


@pytest.fixture
def engine(shared: Engine) -> Iterator[Engine]:
    """The shared archive, empty."""
    yield shared
    ids = [f"{one.collection}/{one.source_file}@{one.source_file_offset}" for one in held(shared)]
    shared.unload_captures(ids)


def held(engine: Engine) -> list[Capture]:
    return list(engine.captures("", "\U0010ffff"))


def loaded(engine: Engine, *lines: str, skip_bad: bool = False) -> list[Capture]:
    load_lines(
        engine, [f"{line}\n".encode() for line in lines], "web", skip_bad=skip_bad, name="post"
    )
    return held(engine)


@pytest.mark.parametrize("case", LINES)
def test_lines_of_every_form_become_one_capture(engine: Engine, case: str) -> None:
    head = (" CDX N b a m s k r M S V g",) if case == "11 fields" else ()
    (found,) = loaded(engine, *head, LINES[case])
    assert (found.url, found.urlkey, found.host) == (
        "http://a.example/",
        "example,a)/",
        "a.example",
    )
    assert (found.timestamp, found.digest, found.status_code) == ("20200101000000", DIGEST, 200)
    assert (found.source_file, found.source_file_offset) == ("x.warc.gz", 5)
    assert found.record_length == (333 if case in ("11 fields", "14 fields") else None)
    assert (found.record_type, found.content_type) == ("response", "text/html")
    assert (found.collection, found.content_type_norm) == ("web", "html")
    assert found.document_id == capture("http://a.example/", digest=DIGEST).document_id


def test_revisits_and_what_is_missing(engine: Engine) -> None:
    (found,) = loaded(engine, "- 20200101000000 http://a.example/ warc/revisit - - - - - 5 x")
    assert (found.record_type, found.content_type, found.status_code) == ("revisit", "", None)
    assert (found.digest, found.document_id) == ("", "")


def test_posts_keep_their_keys(engine: Engine) -> None:
    fields = {"url": "http://a.example/f?z=1", "offset": "1", "filename": "x", "method": "POST"}
    fields["requestBody"] = "Name=Value"
    found = loaded(
        engine,
        f"- 20200101000000 {json.dumps(fields)}",
        CDX11.replace("- 2020", "example,a)/?__wb_method=post&b=1 2020", 1),
    )
    assert [(one.urlkey, one.method) for one in found] == [
        ("example,a)/?__wb_method=post&b=1", "POST"),
        ("example,a)/f?__wb_method=post&name=value&z=1", "POST"),
    ]


@pytest.mark.parametrize("case", BAD)
def test_one_bad_line_and_nothing_is_stored(engine: Engine, case: str) -> None:
    good = [CDX11.replace(" 5 x", f" {number} x") for number in range(1_500)]
    with pytest.raises(CdxError) as raised:
        loaded(engine, *good, BAD[case])
    assert raised.value.line == 1_501
    assert held(engine) == []


def test_bad_lines_are_skipped_when_that_is_wanted(engine: Engine) -> None:
    lines = [f"{line}\n".encode() for line in (*BAD.values(), CDX11)]
    done = load_lines(engine, lines, "web", skip_bad=True, name="post")
    assert (done.lines, done.changed, done.bad_lines) == (1, 1, len(BAD))
    assert [error.line for error in done.errors] == list(range(1, len(BAD) + 1))
    assert len(held(engine)) == 1


def test_what_is_known_stays_as_it_is(engine: Engine) -> None:
    loaded(engine, CDX11)
    changed = CDX11.replace(" 200 ", " 404 ").encode()
    again = load_lines(engine, [changed], "web", skip_bad=False, name="post")
    assert (again.lines, again.changed) == (1, 0)
    assert [one.status_code for one in held(engine)] == [200]


def test_loaded_captures_are_there_for_the_next_question(engine: Engine) -> None:
    loaded(engine, CDX11)
    (row,) = engine.cdx_rows(EVERYTHING)
    assert (row.urlkey, row.length, row.collection) == ("example,a)/", "333", "web")
    assert "web" in engine.collections()


def test_loaded_captures_need_no_documents(engine: Engine) -> None:
    loaded(engine, CDX11)
    assert list(check(engine)) == []


def test_captures_are_taken_back(engine: Engine) -> None:
    other = CDX11.replace(" 5 x", " 6 x")
    loaded(engine, CDX11, other)
    done = unload_lines(engine, [CDX11.encode(), b"bad"], "web", skip_bad=True, name="post")
    assert (done.changed, done.bad_lines) == (1, 1)
    assert [one.source_file_offset for one in held(engine)] == [6]
    with pytest.raises(CdxError):
        unload_lines(engine, [other.encode(), b"bad"], "web", skip_bad=False, name="post")
    assert len(held(engine)) == 1
    assert (
        unload_lines(engine, [other.encode()], "elsewhere", skip_bad=False, name="post").changed
        == 0
    )


def test_a_load_makes_the_archive_and_an_import_goes_on_with_it(open_archive: Opener) -> None:
    with open_archive() as engine:
        assert len(loaded(engine, CDX11)) == 1
        engine.create()
        engine.write(Batch(captures=(capture("http://b.example/", "2010", collection="web"),)))
        engine.refresh()
        assert len(held(engine)) == 2
