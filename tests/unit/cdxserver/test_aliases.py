"""Captures of aliases are listed under their targets, compared with a slow list."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.cdxserver.aliases import AliasedSource
from nwx.cdxserver.loaded_lines import load_lines, unload_lines
from nwx.cdxserver.query_model import DIALECTS, parameters_of
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxLineForm, CdxSpan, exactly
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.change_log import Alias, Aliases
from nwx.errors import CdxError
from tests.unit.cdxserver.rows import ListSource, row

ROWS = [row(name, f"2010010100000{place}") for place, name in enumerate("abcdeabcbb")]
PAIRS = {"b": "c", "e": "a", "d": "e", "x": "c"}
"""`d` leads to `a` by `e`; `x` has no captures."""


def key(name: str) -> str:
    return row(name, "").urlkey


EVERY_SPAN = [
    *(exactly(key(name)) for name in "abcdex"),
    *(exactly(key(name), "2010", "2010010100000601") for name in "abcdex"),
    *(CdxSpan(key(one), key(other)) for one, other in itertools.combinations("abcdez", 2)),
]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.load_captures(())
        yield engine


def line(name: str, timestamp: str = "20100101000000") -> bytes:
    return f"- {timestamp} http://a.example/{name} text/html 200 - - - 9 7 {name}\n".encode()


def listed(engine: Engine, question: str) -> list[str]:
    server = CdxServer([EngineSource(engine)], engine.aliases)
    answer = server.answer(parameters_of(f"{question}&fl=urlkey,filename"), DIALECTS["outback"])
    return b"".join(answer.pieces).decode().splitlines()


@pytest.mark.parametrize("newest_first", [False, True])
def test_spans_of_aliased_captures(engine: Engine, newest_first: bool) -> None:
    pairs = [Alias(key(alias), key(target)) for alias, target in PAIRS.items()]
    engine.aliases.change("", pairs)
    source = AliasedSource(ListSource(ROWS), engine.aliases)
    aliases = Aliases(pairs)
    moved = ListSource([one._replace(urlkey=aliases.resolved(one.urlkey)) for one in ROWS])
    for span in EVERY_SPAN:
        asked = replace(span, newest_first=newest_first)
        first, blank, since = asked.start.partition(" ")
        wanted = asked
        if blank and first in aliases:
            target = aliases.resolved(first)
            wanted = replace(
                asked, start=f"{target} {since}", end=target + asked.end.removeprefix(first)
            )
        assert list(source.rows(asked)) == list(moved.rows(wanted)), asked
        if not newest_first:
            places = [f"{one.urlkey} {one.timestamp}" for one in moved.rows(wanted)]
            assert next(source.marks(asked), "") == (places[0] if places else "")
            assert source.blocks(asked, CdxLineForm((0,), True)) is None


def test_circles_of_aliases_end() -> None:
    aliases = Aliases([("a", "b"), ("b", "a")])
    assert {aliases.resolved("a"), aliases.resolved("b")} <= {"a", "b"}
    assert aliases.through("a") == ["a", "b"]


def test_lines_of_aliases_are_stored_with_captures(engine: Engine) -> None:
    posted = b"@alias http://a.example/b http://www.a.example/c\r\n" + line("b") + line("c", "2011")
    assert load_lines(engine, [posted], "web", skip_bad=False, name="").lines == 3
    both = [f"{key('c')} b", f"{key('c')} c"]
    for question in ("url=a.example/b", "url=a.example/c", "url=a.example*", "url=*.example"):
        assert listed(engine, question) == both
    assert listed(engine, "url=a.example/b*") == []  # as in OutbackCDX
    assert listed(engine, "url=a.example/b&collection=other") == []
    gone = unload_lines(engine, [b"@alias http://a.example/b\n"], "web", skip_bad=False, name="")
    assert gone.changed == 1
    assert listed(engine, "url=a.example/b") == [f"{key('b')} b"]


def test_pages_by_resume_keys_go_on_at_an_alias(engine: Engine) -> None:
    posted = b"@alias http://a.example/a http://a.example/z\n" + line("a") + line("z", "2011")
    load_lines(engine, [posted], "web", skip_bad=False, name="")
    server = CdxServer([EngineSource(engine)], engine.aliases)
    asked = "url=a.example/a&fl=filename&limit=1&showResumeKey=true"
    first = b"".join(server.answer(parameters_of(asked), DIALECTS["ia"]).pieces).decode().split()
    asked += f"&resumeKey={first[1]}"
    assert b"".join(server.answer(parameters_of(asked), DIALECTS["ia"]).pieces) == b"z\n"


@pytest.mark.parametrize("bad", [b"@alias http://a.example/", b"@alias a b c", b"@alias  "])
def test_bad_alias_lines_are_told(engine: Engine, bad: bytes) -> None:
    posted = [line("a"), b"@alias a.example b.example\n" + bad + b"\n"]
    with pytest.raises(CdxError) as told:
        load_lines(engine, posted, "web", skip_bad=False, name="lines")
    assert told.value.line == 3
    assert engine.aliases.of_collection("web") is None
    loaded = load_lines(engine, posted, "web", skip_bad=True, name="lines")
    assert (loaded.lines, loaded.bad_lines) == (2, 1)


def test_a_range_goes_from_a_urlkey_to_the_end(engine: Engine) -> None:
    load_lines(engine, [line("a") + line("b") + line("c")], "web", skip_bad=False, name="")
    found = listed(engine, f"urlkey={key('b')}&matchType=range")
    assert found == [f"{key('b')} b", f"{key('c')} c"]
