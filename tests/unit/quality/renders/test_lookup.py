"""Unit tests of finding renders; on both engines: tests/conformance/test_38_renders.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.model import Batch
from nwx.quality.renders.lookup import PageMoment, find_pictures, find_renders, has_renders
from nwx.settings import Settings
from nwx.values.render_names import RenderKind
from tests.conformance.archive import capture


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(str(tmp_path / "archive"))) as opened:
        opened.create()
        yield opened


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
