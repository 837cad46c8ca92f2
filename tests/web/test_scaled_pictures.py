"""Scaled images: created once, few at a time, the latest cached."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from nwx.errors import EngineBusyError, FormatError
from webapp.site.context import ScaledPictures


def test_a_picture_is_made_once() -> None:
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        return b"picture"

    pictures = ScaledPictures()
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: pictures.picture("a", make), range(50)))
    assert set(found) == {b"picture"}
    assert len(made) <= 2


def test_broken_pictures_are_remembered() -> None:
    made: list[int] = []

    def make() -> bytes:
        made.append(1)
        raise FormatError("broken")

    pictures = ScaledPictures()
    for _ in range(3):
        with pytest.raises(FormatError):
            pictures.picture("a", make)
    assert made == [1]


def test_pictures_kept_are_bounded() -> None:
    pictures = ScaledPictures(kept=1_000)
    for number in range(10):
        assert len(pictures.picture(str(number), lambda: bytes(200))) == 200
    assert len(pictures.picture("large", lambda: bytes(5_000))) == 5_000
    assert pictures.picture("9", lambda: b"new") == bytes(200)
    assert pictures.picture("0", lambda: b"new") == b"new"
    assert pictures.picture("large", lambda: b"new") == b"new"


def test_few_pictures_are_made_at_a_time() -> None:
    pictures = ScaledPictures(at_once=2, wait_seconds=0.01)
    go_on, begun = threading.Event(), threading.Barrier(3)

    def make() -> bytes:
        begun.wait(10)
        go_on.wait(10)
        return b"picture"

    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(pictures.picture, name, make) for name in "ab"]
        begun.wait(10)
        with pytest.raises(EngineBusyError):
            pictures.picture("c", make)
        go_on.set()
        assert [one.result(10) for one in waiting] == [b"picture"] * 2
    assert pictures.picture("c", lambda: b"picture") == b"picture"
