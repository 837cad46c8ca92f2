"""The file of pictures: slow queries are stopped."""

from pathlib import Path

import pytest

from nwx.engine.document_index import Work, working
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.picture_index import Picture, PictureQuestion
from nwx.errors import QuestionTimeoutError
from nwx.keys import document_id


def _picture(number: int) -> Picture:
    place = (f"http://a.test/word{number}.png", f"test,a)/word{number}.png", "a.test", "a.test")
    taken = ("web", "20100101000000", f"sha1:{number}", "image/png", 30, 30)
    return Picture(document_id(str(number)), *place, *taken)


def test_a_search_ends_at_its_deadline(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        index = engine.picture_index()
        index.put([_picture(number) for number in range(2_000)])
        assert index.search(PictureQuestion("word*")).total.value == 2_000
        with working(Work(0.0)), pytest.raises(QuestionTimeoutError):
            index.search(PictureQuestion("word*"))
