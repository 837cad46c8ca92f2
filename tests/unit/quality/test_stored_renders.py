"""The stored bytes of renders."""

from pathlib import Path
from typing import Any, cast

import pytest

from nwx.engine.base import Engine
from nwx.errors import FormatError, SourceError
from nwx.model import Batch, Capture, RenderPlace, SourceFile
from nwx.quality.render_writer import RenderWriter
from nwx.quality.stored_renders import (
    PageMoment,
    RenderedPage,
    find_pictures,
    find_renders,
    has_renders,
    read_placed_render,
    read_render,
    rendered_pages,
    whole_bytes,
)
from nwx.values.render_names import RenderKind
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import FilePlaces, expand
from tests.conformance.archive import capture
from tests.rendering.renders import render as page_render
from tests.renders import ALL_RENDERS, PAGE, render, write_rendered
from tests.warc_records import write_records


def places_of(path: Path) -> FilePlaces:
    return FilePlaces(lambda: [SourceFile("web", path.name, str(path), None, "")])


def captures_of(path: Path) -> list[Capture]:
    (source,) = expand([str(path)])
    found = ArchiveReader(cast(Any, source), "web")
    return [one.capture for one in found if isinstance(one, CaptureRecord)]


def test_all_conventions_are_read(tmp_path: Path) -> None:
    path = write_rendered(tmp_path / "a.warc.gz")
    page, *renders = captures_of(path)
    places = places_of(path)
    found = [read_render(places, one) for one in renders]
    assert len(found) == ALL_RENDERS
    assert {one.url for one in found} == {PAGE}
    assert {one.kind for one in found} == set(RenderKind)
    assert {one.media_type for one in found} == {
        "image/png",
        "image/jpeg",
        "text/plain",
        "text/html",
        "application/json",
    }
    text = next(one for one in found if one.kind is RenderKind.TEXT)
    assert (text.payload, text.timestamp, text.rendered_from) == (
        b"the text",
        "20200101000009",
        "",
    )
    with pytest.raises(FormatError, match="not a render"):
        read_render(places, page)


def test_where_a_render_was_made(tmp_path: Path) -> None:
    record = render(
        "urn:text:http://a.example/",
        b"x",
        "Text/Plain; charset=utf-8",
        "2020-01-01T00:00:00Z",
        NWX_Rendered_From="playback",
    )
    path = write_records(tmp_path / "a.warc.gz", [record])
    (capture,) = captures_of(path)
    found = read_render(places_of(path), capture)
    assert (found.rendered_from, found.media_type) == ("playback", "text/plain")


def test_renders_that_cannot_be_read(tmp_path: Path) -> None:
    path = write_rendered(tmp_path / "a.warc.gz")
    _, view, thumbnail, *_ = captures_of(path)
    with pytest.raises(FormatError, match="bytes; at most 10 are read"):
        read_render(places_of(path), view, 10)
    with pytest.raises(SourceError, match="is unknown"):
        read_render(places_of(tmp_path / "b.warc.gz"), view)
    whole = path.read_bytes()
    end = thumbnail.source_file_offset
    path.write_bytes(whole[: end - 9] + b"\0" * 9 + whole[end:])
    with pytest.raises(FormatError, match="damaged"):
        read_render(places_of(path), view)
    assert read_render(places_of(path), thumbnail).kind is RenderKind.THUMBNAIL
    path.write_bytes(whole[:end])
    with pytest.raises(FormatError, match="no record"):
        read_render(places_of(path), thumbnail)
    page = whole[: view.source_file_offset]
    path.write_bytes(page * 40)
    other = next(
        one for one in captures_of(path) if one.source_file_offset >= len(page)
    ).source_file_offset
    moved = Capture(
        **{name: getattr(view, name) for name in Capture._fields} | {"source_file_offset": other}
    )
    with pytest.raises(FormatError, match="another record"):
        read_render(places_of(path), moved)


def test_a_render_is_read_at_its_place(tmp_path: Path) -> None:
    path = write_rendered(tmp_path / "a.warc.gz")
    views = [one for one in captures_of(path) if one.url.startswith("urn:view:")]
    (view,) = views
    place = RenderPlace(str(path), view.source_file_offset, view.record_length or 0)
    found = read_placed_render(place, PAGE, [RenderKind.VIEW])
    assert found == read_render(places_of(path), view)
    bare = PAGE.replace("https://", "http://").replace("www.", "")
    assert read_placed_render(place, bare, list(RenderKind)).payload == found.payload
    for url, kinds in ((f"{PAGE}x", list(RenderKind)), (PAGE, [RenderKind.TEXT])):
        with pytest.raises(FormatError, match="another record"):
            read_placed_render(place, url, kinds)
    with pytest.raises(FormatError):
        read_placed_render(RenderPlace(str(path), 3, 0), PAGE, [RenderKind.VIEW])
    with pytest.raises(SourceError):
        read_placed_render(RenderPlace(f"{path}#inner", 0, 0), PAGE, [RenderKind.VIEW])
    with pytest.raises(SourceError):
        read_placed_render(RenderPlace("/none/at.all", 0, 0), PAGE, [RenderKind.VIEW])


def test_pages_are_done_with_their_information(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    assert rendered_pages(path) == set()
    with RenderWriter(path) as writer:
        writer.write(page_render("http://made.example/1"))
        writer.write(page_render("http://made.example/2"))
    first = RenderedPage("http://made.example/1", "20200101000000")
    second = RenderedPage("http://made.example/2", "20200101000000")
    assert rendered_pages(path) == {first, second}
    assert whole_bytes(path) == path.stat().st_size
    path.write_bytes(path.read_bytes()[:-9])
    assert rendered_pages(path) == {first}
    assert whole_bytes(path) < path.stat().st_size


def test_a_broken_member_is_the_end(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    with RenderWriter(path) as writer:
        writer.write(page_render())
    whole = path.stat().st_size
    with path.open("ab") as stream:
        stream.write(b"\x1f\x8b and then rubbish")
    assert whole_bytes(path) == whole


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        rendered_pages(tmp_path)


def test_an_archive_without_renders(engine: Engine) -> None:
    assert not has_renders(engine)
    assert find_renders(engine, "http://a.example/", "20200101000000") == {}
    assert find_pictures(engine, []) == []
    assert find_pictures(engine, [PageMoment("not a URL", "20200101000000")]) == [None]
    assert find_renders(engine, "http://a.example/", "garbage") == {}


def test_a_text_is_no_picture(engine: Engine) -> None:
    url = "http://a.example/"
    text = capture(f"urn:view:{url}", "2020", record_type="resource", content_type="text/html")
    engine.write(Batch(captures=(text,)))
    engine.refresh()
    assert has_renders(engine)
    assert find_pictures(engine, [PageMoment(url, "2020")]) == [None]
    assert find_renders(engine, url, "2020") == {RenderKind.VIEW: [text]}
