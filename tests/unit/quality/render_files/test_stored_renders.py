from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.quality.render_files.render_writer import RenderWriter
from nwx.quality.render_files.stored_renders import RenderedPage, rendered_pages, whole_bytes
from tests.rendering.renders import render


def test_pages_are_done_with_their_information(tmp_path: Path) -> None:
    path = tmp_path / "renders.warc.gz"
    assert rendered_pages(path) == set()
    with RenderWriter(path) as writer:
        writer.write(render("http://made.example/1"))
        writer.write(render("http://made.example/2"))
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
        writer.write(render())
    whole = path.stat().st_size
    with path.open("ab") as stream:
        stream.write(b"\x1f\x8b and then rubbish")
    assert whole_bytes(path) == whole


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError):
        rendered_pages(tmp_path)
