from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.quality.monitor.new_captures import NewCaptures
from nwx.quality.monitor.state import MonitorState
from nwx.settings import Settings
from tests.conformance.archive import batch, page


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(str(tmp_path / "archive"))) as opened:
        yield opened


def taken(engine: Engine, state: MonitorState, stops: int = 0) -> MonitorState:
    pauses = iter([True] * stops)
    NewCaptures(engine).take(state, engine.capture_mark(), lambda: next(pauses, False))
    return state


def test_without_an_archive_nothing_is_new(engine: Engine) -> None:
    assert taken(engine, MonitorState("a", "web", "")).sums.archived == 0


def test_it_goes_on_where_it_was_stopped(engine: Engine) -> None:
    pages = [page(f"http://a.example/{n}", content=f"text {n}", offset=n) for n in range(1_700)]
    engine.write(batch(pages))
    engine.refresh()
    state = MonitorState("a", "web", "")
    assert taken(engine, state, stops=1).sums.archived == 500
    assert taken(engine, state, stops=1).sums.archived == 1_000
    assert taken(engine, state).sums.archived == 1_700
    assert taken(engine, state).sums.totals.new_documents == 1_700


def test_robots_txt_is_read(engine: Engine) -> None:
    def robots(host: str, content: str) -> object:
        return page(f"http://{host}/robots.txt", content=content, content_type="text/plain")

    engine.write(
        batch(
            [
                robots("all.example", "User-agent: *\nDisallow: /\n"),  # type: ignore[list-item]
                robots("some.example", "User-agent: *\nDisallow: /private\n"),
                robots("other.example", "User-agent: bad\nDisallow: /\n"),
                robots("empty.example", ""),
                robots("odd.example", "\x00\ufffd:::\nDisallow"),
                robots("delay.example", "User-agent: *\nCrawl-delay: ²\nDisallow: /\n"),
                robots("digits.example", f"User-agent: *\nCrawl-delay: {'9' * 5_000}\n"),
                robots("address.example", "User-agent: *\nDisallow: //[x\n"),
            ]
        )
    )
    engine.refresh()
    hosts = taken(engine, MonitorState("a", "web", "")).sums.hosts.hosts
    denied = {name for name, host in hosts.items() if host.denials.all_denied}
    assert len(hosts) == 8 and denied == {"all.example"}
