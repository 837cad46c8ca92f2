"""Dates are sets to which entries are only added."""

import time
from concurrent.futures import ThreadPoolExecutor

from nwx.engine.base import Engine
from nwx.errors import EngineBusyError
from nwx.keys import document_id, document_key
from nwx.model import Dates, IndexName
from tests.conformance.archive import also, batch, full, page
from tests.conformance.engines import Opener

DATES_OF_ENTRY = 50

HOME = page("http://example.org/", "2010", "welcome")
KEY = document_key(HOME.capture.url, HOME.capture.digest)
ID = HOME.capture.document_id


def test_new_pairs_are_counted(engine: Engine) -> None:
    assert engine.append_dates([also(HOME, "2011", "2012")]) == 2
    assert engine.append_dates([also(HOME, "2012", "2013")]) == 1
    assert engine.append_dates([also(HOME, "2012 other")]) == 1
    assert engine.append_dates([also(HOME, "2012 other")]) == 0
    assert engine.append_dates([]) == 0


def test_pairs_are_given_in_order(engine: Engine) -> None:
    engine.append_dates([also(HOME, "2012", "2010 web", "2010 art"), also(HOME, "2009")])
    assert engine.dates([ID, "0" * 32]) == {
        ID: Dates(
            KEY,
            (
                (full("2009"), "web"),
                (full("2010"), "art"),
                (full("2010"), "web"),
                (full("2012"), "web"),
            ),
        )
    }
    assert engine.dates([]) == {}


def test_a_key_may_come_twice_in_one_call(engine: Engine) -> None:
    assert engine.append_dates([also(HOME, "2011"), also(HOME, "2011", "2012")]) == 2


def test_dates_come_before_and_after_their_document(engine: Engine) -> None:
    engine.append_dates([also(HOME, "2008")])
    engine.write(batch([HOME]))
    engine.append_dates([also(HOME, "2015")])
    years = [timestamp[:4] for timestamp, _ in engine.dates([ID])[ID].seen]
    assert years == ["2008", "2010", "2015"]


def test_dates_are_counted_by_document(engine: Engine) -> None:
    engine.write(batch([HOME], [also(HOME, "2011", "2012")]))
    engine.append_dates([Dates("http://elsewhere.example/ sha1:X", ((full("2010"), "web"),))])
    engine.refresh()
    assert engine.count(IndexName.DATES) == 2


def test_thousands_of_documents_at_once(engine: Engine) -> None:
    many = [Dates(f"http://example.org/{n} -", ((full("2010"), "web"),)) for n in range(2500)]
    assert engine.append_dates(many) == 2500
    assert engine.append_dates([*many, also(HOME, "2010")]) == 1
    ids = [document_id(one.key) for one in many]
    assert set(engine.dates(ids)) == set(ids)


def test_many_dates_of_one_document(engine: Engine) -> None:
    moments = [f"20100101{n // 3600:02}{n // 60 % 60:02}{n % 60:02}" for n in range(3000)]
    assert engine.append_dates([also(HOME, *moments)]) == 3000
    assert engine.append_dates([also(HOME, *moments, "2012")]) == 1
    assert len(engine.dates([ID])[ID].seen) == 3001


def test_two_writers_lose_nothing(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.create()

    def write(writer: int) -> int:
        return sum(_append(open_archive, also(HOME, f"20{n:02} {writer}")) for n in range(8))

    with ThreadPoolExecutor(2) as writers:
        new = list(writers.map(write, (0, 1)))
    assert new == [8, 8]
    with open_archive() as engine:
        seen = set(engine.dates([ID])[ID].seen)
    assert seen == {(full(f"20{n:02}"), str(writer)) for n in range(8) for writer in (0, 1)}


def _append(open_archive: Opener, dates: Dates) -> int:
    """Add dates as soon as the other writer releases the lock."""
    for _ in range(500):
        try:
            with open_archive() as engine:
                engine.create()
                return engine.append_dates([dates])
        except EngineBusyError:
            time.sleep(0.01)
    raise TimeoutError("the other writer never let go")
