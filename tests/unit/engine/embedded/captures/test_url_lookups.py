"""Look-ups of many URLs one by one, compared with one pass over all blocks."""

import random
from pathlib import Path

import pytest

from nwx.engine.capture_index import KeysAtTime
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.captures import url_lookups
from nwx.model import Batch, Capture
from tests.conformance.archive import capture


def _captures(chance: random.Random, number: int) -> list[Capture]:
    paths = ["a", "a!b", "b", "c?d=1", *map(str, range(40))]
    return [
        capture(
            f"http://example.org/{chance.choice(paths)}",
            str(chance.randrange(2000, 2020)),
            status=chance.choice((200, 301, 404, None)),
            offset=number * 1_000 + place,
        )
        for place in range(200)
    ]


def test_one_pass_finds_what_look_ups_find(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    with EmbeddedEngine(tmp_path / "archive") as engine:
        for number in range(3):  # each write makes a run
            engine.write(Batch(captures=tuple(_captures(chance, number))))
            engine.refresh()
        keys = [f"org,example)/{path}" for path in ("a", "a!b", "b", "c?d=1", "7", "none", "zz")]
        asked = [KeysAtTime(tuple(chance.sample(keys, 2)), "2010") for _ in range(20)]

        def answers() -> list[object]:
            return [
                engine.statuses(keys),
                engine.statuses(keys, lambda one: one.timestamp < "2012"),
                engine.captures_near(asked, 5),
                engine.captures_near(asked, 1_000),
            ]

        monkeypatch.setattr(url_lookups, "_PER_LOOKUP", 1_000)
        in_one_pass = answers()
        monkeypatch.setattr(url_lookups, "_PER_LOOKUP", 0)
        assert in_one_pass == answers()
        assert len(engine.captures_near(asked, 1_000)[0]) > 5
        assert engine.captures_near([], 5) == [] == list(engine.statuses([]))


def test_all_captures_of_a_url_are_found_in_order(tmp_path: Path) -> None:
    many = [
        capture("http://example.org/", str(2000 + place % 7), offset=place) for place in range(900)
    ]
    other = capture("http://example.org/a", "2001", offset=9_000)
    with EmbeddedEngine(tmp_path / "archive") as engine:
        for some in (many[::3], [*many[1::3], other], many[2::3]):
            engine.write(Batch(captures=tuple(some)))
            engine.refresh()
        order = sorted(many, key=lambda one: (one.timestamp, one.source_file_offset))
        assert list(engine.captures("org,example)/")) == order
        assert list(engine.captures("org,example)/", "org,example)/b")) == [*order, other]
