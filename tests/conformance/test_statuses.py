"""The lowest status of the captures of URLs."""

from nwx.engine.base import Engine
from nwx.model import Batch
from tests.conformance.archive import capture

CAPTURES = [
    capture("http://example.org/a", "2010", status=404),
    capture("http://example.org/a", "2011", status=200),
    capture("http://example.org/b", "2010", status=503),
    capture("http://example.org/b", "2011", status=404),
    capture("http://example.org/c", "2011", status=404),
    capture("http://example.org/c", "2012", status=None),
    capture("http://example.org/\"quo'te,é", "2012", status=301),
]
BATCHES = [Batch(captures=tuple(CAPTURES))]


def test_statuses_of_urls(archive: Engine) -> None:
    keys = sorted({one.urlkey for one in CAPTURES})
    assert archive.statuses([*keys, "org,example)/nowhere"]) == {
        "org,example)/a": 200,
        "org,example)/b": 404,
        "org,example)/c": 0,
        CAPTURES[-1].urlkey: 301,
    }
    assert archive.statuses([]) == {}


def test_statuses_of_very_many_urls(engine: Engine) -> None:
    many = [
        capture(f"http://example.org/{number}", "2010", offset=number, status=200)
        for number in range(2_300)
    ]
    engine.write(Batch(captures=tuple(many)))
    engine.refresh()
    keys = [one.urlkey for one in many] + [f"org,nowhere)/{number}" for number in range(4_000)]
    assert engine.statuses(keys) == {one.urlkey: 200 for one in many}
    later = capture("http://example.org/7", "2011", status=100)
    engine.write(Batch(captures=(later,)))
    engine.refresh()
    assert engine.statuses([keys[7], keys[8], keys[-1]]) == {keys[7]: 100, keys[8]: 200}
    shown = engine.statuses([keys[7], keys[8]], lambda one: one.timestamp < "2011")
    assert shown == {keys[7]: 100}


def test_statuses_of_urls_written_at_several_times(engine: Engine) -> None:
    for year, status in (("2010", 404), ("2011", 200), ("2012", 503)):
        same = capture("http://example.org/a", year, status=status)
        near = capture(f"http://example.org/a!{year}", year, status=status)
        engine.write(Batch(captures=(same, near)))
        engine.refresh()
    assert engine.statuses(["org,example)/a", "org,example)/a!2012"]) == {
        "org,example)/a": 200,
        "org,example)/a!2012": 503,
    }
    shown = engine.statuses(["org,example)/a"], lambda one: one.timestamp >= "2011")
    assert shown == {"org,example)/a": 404}
