"""The quality index: playback scores of captures, worst first, filtered, counted; and states."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import (
    MOST_FAULTS,
    MOST_MISSING_KEPT,
    Fault,
    PlaybackScore,
    QualityFilter,
    QualityGroup,
    QualityTotals,
)
from nwx.keys import capture_id
from nwx.maintenance.agreement import check
from nwx.model import Batch, IndexName, RenderPlace
from nwx.quality.scores import CaptureMark, marked_captures
from tests.conformance.archive import batch, page
from tests.conformance.engines import Opener

ABOVE_ENGINES = True

FULL = PlaybackScore(
    id="web/a b#c/d.warc.gz@17",
    collection="web",
    url="http://www.example.org/ä?q=1",
    urlkey="org,example)/ä?q=1",
    host="www.example.org",
    domain="example.org",
    timestamp="20190203040506",
    checked="20260102030405",
    rules="1",
    score=0.25,
    screenshot=0.5,
    structure=0.625,
    text=1.0,
    crawl_good=12,
    crawl_bad=0,
    replay_good=10,
    replay_bad=2,
    worst_seconds=86_400 * 400,
    mean_seconds=0,
    faults=(
        Fault("missing", "http://www.example.org/a.css", 404),
        Fault("console", detail="TypeError: “x” is undefined"),
        Fault("missing", "http://www.example.org/b.js"),
    ),
    faults_total=900,
    crawl_view=RenderPlace("/files/crawl.warc.gz", 1_000, 2_000),
    playback_view=RenderPlace("/files/renders.warc.gz", 0, 5 << 32),
    resources=("org,example)/a.css", "org,example)/b.js"),
)
BARE = PlaybackScore(
    "web/b@1",
    "web",
    "http://b.test/",
    "test,b)/",
    "b.test",
    "b.test",
    "20200101000000",
    "20260101000000",
    "1",
    1.0,
)


def score(number: int, value: float, *kinds: str, **more: str) -> PlaybackScore:
    timestamp = more.pop("month", "202001") + "02030405"
    host = more.pop("host", "a.test")
    return PlaybackScore(
        **{
            "id": f"web/a.warc.gz@{number}",
            "collection": "web",
            "url": f"http://{host}/{number}",
            "urlkey": f"test,a)/{number}",
            "host": host,
            "domain": ".".join(host.split(".")[-2:]),
            "timestamp": timestamp,
            "checked": f"202601020304{number % 60:02}",
            "rules": "1",
            **more,
        },
        score=value,
        faults=tuple(Fault(kind) for kind in kinds),
        faults_total=len(kinds),
    )


SCORES = [
    score(1, 0.5, "missing", "console"),
    score(2, 0.25, "missing", host="www.a.test"),
    score(3, 1.0, month="202002"),
    score(4, 0.5, "leak", host="b.test", month="202002"),
    score(5, 0.0, "crash", "missing", host="b.test", collection="other"),
    score(6, 1.0, host="b.test", collection="other", month="201912"),
]


def numbers(found: Sequence[PlaybackScore]) -> list[int]:
    return [int(one.id.rpartition("@")[2]) for one in found]


def test_an_archive_has_no_scores_at_first(engine: Engine) -> None:
    quality = engine.quality_index()
    assert quality.score("web/a@1") is None
    assert quality.scores(QualityFilter(), 10) == list(quality.scan()) == []
    assert quality.checked(["web/a@1"], "1") == set()
    assert quality.totals() == QualityTotals()
    assert quality.remove(["web/a@1"]) == engine.delete(IndexName.QUALITY, ["web/a@1"]) == 0
    assert quality.state("monitor:votes") is None
    assert quality.states() == []
    assert engine.count(IndexName.QUALITY) == engine.stats()[IndexName.QUALITY].entries == 0
    assert list(engine.scan(IndexName.QUALITY)) == []


def test_scores_are_read_as_they_were_put(engine: Engine) -> None:
    quality = engine.quality_index()
    quality.put([FULL, BARE])
    assert quality.score(FULL.id) == FULL
    assert quality.score(BARE.id) == BARE
    assert quality.scores_of(["web/none@1", BARE.id, FULL.id]) == {BARE.id: BARE, FULL.id: FULL}
    assert quality.scores_of([]) == {}
    assert quality.scores(QualityFilter(), 10) == list(quality.scan()) == [FULL, BARE]


def test_the_worst_pages_come_first(engine: Engine) -> None:
    quality = engine.quality_index()
    quality.put(SCORES)
    everything = quality.scores(QualityFilter(), 10)
    assert numbers(everything) == [5, 2, 1, 4, 3, 6]
    assert numbers(quality.scores(QualityFilter(), 2, 1)) == [2, 1]
    assert quality.scores(QualityFilter(), 5, 6) == quality.scores(QualityFilter(), 0) == []
    assert list(quality.scan()) == everything
    assert numbers(quality.scores(QualityFilter(), 3, order="newest")) == [6, 5, 4]
    assert numbers(list(quality.scan(order="newest"))) == [6, 5, 4, 3, 2, 1]
    with pytest.raises(ValueError, match="best"):
        quality.scores(QualityFilter(), 3, order="best")


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (QualityFilter(host="b.test"), [5, 4, 6]),
        (QualityFilter(domain="a.test"), [2, 1, 3]),
        (QualityFilter(host="a.test"), [1, 3]),
        (QualityFilter(month="202002"), [4, 3]),
        (QualityFilter(collection="other"), [5, 6]),
        (QualityFilter(kind="missing"), [5, 2, 1]),
        (QualityFilter(kind="missing", collection="web", domain="a.test"), [2, 1]),
        (QualityFilter("web", "b.test", "b.test", "202002", "leak"), [4]),
        (QualityFilter(host="c.test"), []),
        (QualityFilter(kind="far"), []),
    ],
)
def test_scores_are_filtered_and_counted(
    engine: Engine, wanted: QualityFilter, found: list[int]
) -> None:
    quality = engine.quality_index()
    quality.put(SCORES)
    assert numbers(quality.scores(wanted, 10)) == numbers(list(quality.scan(wanted))) == found
    newest = numbers(quality.scores(wanted, 10, order="newest"))
    assert newest == sorted(found, reverse=True)
    chosen = [one for one in SCORES if numbers([one])[0] in found]
    totals = quality.totals(wanted)
    assert totals.pages == len(found)
    assert totals.mean_score == (
        pytest.approx(sum(one.score for one in chosen) / len(chosen)) if chosen else None
    )
    for groups, name in ((totals.hosts, "host"), (totals.collections, "collection")):
        counted = {one.value: one.pages for one in groups}
        values = [getattr(one, name) for one in chosen]
        assert counted == {value: values.count(value) for value in values}


def test_totals_are_in_order(engine: Engine) -> None:
    engine.quality_index().put(SCORES)
    totals = engine.quality_index().totals()
    assert totals.kinds == (
        QualityGroup("missing", 3, 0.25),
        QualityGroup("console", 1, 0.5),
        QualityGroup("crash", 1, 0.0),
        QualityGroup("leak", 1, 0.5),
    )
    assert totals.months == (
        QualityGroup("201912", 1, 1.0),
        QualityGroup("202001", 3, 0.25),
        QualityGroup("202002", 2, 0.75),
    )
    assert [(one.value, one.pages) for one in totals.hosts] == [
        ("b.test", 3),
        ("a.test", 2),
        ("www.a.test", 1),
    ]
    assert totals.collections == (QualityGroup("web", 4, 0.5625), QualityGroup("other", 2, 0.5))
    of_kind = engine.quality_index().totals(QualityFilter(kind="missing"))
    assert {one.value: one.pages for one in of_kind.kinds} == {
        "missing": 3,
        "console": 1,
        "crash": 1,
    }


def test_a_score_is_put_in_the_place_of_the_one_before(engine: Engine) -> None:
    quality = engine.quality_index()
    quality.put(SCORES)
    quality.put([])
    quality.put([SCORES[0], replace(SCORES[0], score=0.75)])
    quality.put(SCORES[1:])
    better = score(5, 1.0, "far", month="202003", rules="2")
    quality.put([better, better])
    assert quality.score(better.id) == better
    assert numbers(quality.scores(QualityFilter(), 10)) == [2, 4, 1, 3, 5, 6]
    assert quality.scores(QualityFilter(kind="crash"), 10) == []
    assert numbers(quality.scores(QualityFilter(kind="missing"), 10)) == [2, 1]
    assert numbers(quality.scores(QualityFilter(month="202003"), 10)) == [5]
    engine.refresh()
    assert engine.count(IndexName.QUALITY) == quality.totals().pages == 6
    assert quality.checked([one.id for one in SCORES] + ["web/none@1"], "2") == {better.id}
    assert len(quality.checked([one.id for one in SCORES], "1")) == 5


def test_removed_scores_are_gone(engine: Engine) -> None:
    quality = engine.quality_index()
    quality.put([FULL, *SCORES])
    assert quality.remove([SCORES[0].id, SCORES[0].id, "web/none@1"]) == 1
    assert engine.delete(IndexName.QUALITY, [FULL.id, SCORES[1].id]) == 2
    assert quality.score(FULL.id) is None
    assert numbers(quality.scores(QualityFilter(), 10)) == [5, 4, 3, 6]
    assert numbers(quality.scores(QualityFilter(kind="missing"), 10)) == [5]


def test_entries_are_as_in_the_mapping_in_the_order_of_their_ids(engine: Engine) -> None:
    engine.quality_index().put([FULL, *SCORES[::-1]])
    engine.quality_index().put_state("monitor:votes", b"counts")
    engine.refresh()
    entries = list(engine.scan(IndexName.QUALITY))
    ids = [entry["id"] for entry in entries]
    assert ids == sorted(ids)
    assert engine.count(IndexName.QUALITY) == len(ids) == 7
    stats = engine.stats()[IndexName.QUALITY]
    assert stats.entries == 7
    assert stats.bytes
    found = next(entry for entry in entries if entry["id"] == FULL.id)
    assert found["kinds"] == ["console", "missing"]
    assert found["month"] == "201902"
    assert found["crawl_view"] == {"path": "/files/crawl.warc.gz", "offset": 1_000, "length": 2_000}
    assert found["faults"][0] == {
        "kind": "missing",
        "resource": "http://www.example.org/a.css",
        "status": 404,
    }
    assert "screenshot" not in entries[-1]


def test_what_archives_hold_is_bounded(engine: Engine) -> None:
    many = tuple(Fault("missing", f"http://a.test/{n}") for n in range(MOST_FAULTS + 100))
    long = replace(
        BARE,
        url="http://b.test/" + "ü" * 40_000,
        urlkey="test,b)/" + "ü" * 40_000,
        faults=(*many, Fault("leak", "http://\ud800.test/" + "x" * 50_000, None, "y" * 50_000)),
        resources=tuple(f"test,a)/{n}" for n in range(MOST_MISSING_KEPT + 100)),
    )
    engine.quality_index().put([long])
    found = engine.quality_index().score(long.id)
    assert found is not None
    assert found.url == long.url
    assert found.faults_total == MOST_FAULTS + 101
    assert (len(found.faults), len(found.resources)) == (MOST_FAULTS, MOST_MISSING_KEPT)
    assert found.faults[0] == many[0]
    assert found.faults[-1].kind == "leak"
    assert len(found.faults[-1].resource) < len(found.faults[-1].detail) * 5 == 10_000
    assert [group.value for group in engine.quality_index().totals().kinds] == ["leak", "missing"]


def test_states_are_kept_by_name(engine: Engine) -> None:
    quality = engine.quality_index()
    large = bytes(range(256)) * (8 << 12)
    quality.put_state("monitor:votes", large)
    quality.put_state("monitor:floods/ü “x”", b"")
    assert quality.state("monitor:votes") == large
    assert quality.state("monitor:floods/ü “x”") == b""
    assert quality.state("monitor:vote") is None
    quality.put_state("monitor:votes", b"less")
    quality.put_state("a", b"\x00\xff")
    assert quality.state("monitor:votes") == b"less"
    assert quality.states() == ["a", "monitor:floods/ü “x”", "monitor:votes"]
    assert quality.scores(QualityFilter(), 10) == []
    engine.refresh()
    assert engine.count(IndexName.QUALITY) == 0


def test_lists_go_on_beyond_ten_thousand(engine: Engine) -> None:
    quality = engine.quality_index()
    many = [score(n, n % 101 / 100, host=f"h{n % 300}.test") for n in range(10_500)]
    quality.put(many)
    in_order = [one.id for one in sorted(many, key=lambda one: (one.score, one.id))]
    assert [one.id for one in quality.scores(QualityFilter(), 5, 10_200)] == in_order[10_200:10_205]
    assert [one.id for one in quality.scan()] == in_order
    engine.refresh()
    assert engine.count(IndexName.QUALITY) == len(list(engine.scan(IndexName.QUALITY))) == 10_500
    totals = quality.totals()
    assert (totals.pages, len(totals.hosts)) == (10_500, 100)
    assert totals.hosts[0].pages == 35
    assert len(quality.checked([one.id for one in many], "1")) == 10_500


def test_scores_outlive_the_one_who_wrote_them(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.quality_index().put([FULL])
        engine.quality_index().put_state("monitor:votes", b"counts")
    with open_archive() as engine:
        assert engine.quality_index().score(FULL.id) == FULL
        assert engine.quality_index().state("monitor:votes") == b"counts"
        assert engine.count(IndexName.CAPTURES) == 0


def test_scores_without_their_captures_are_reported(engine: Engine) -> None:
    there = page("http://a.test/1", "2020", "text")
    engine.write(batch([there]))
    held = there.capture
    id = capture_id(held.collection, held.source_file, held.source_file_offset)
    engine.quality_index().put([replace(SCORES[0], id=id, urlkey=held.urlkey)])
    engine.refresh()
    assert list(check(engine)) == []
    engine.quality_index().put([replace(SCORES[0], urlkey=held.urlkey)])
    engine.refresh()
    assert [(one.kind, one.index, one.id) for one in check(engine)] == [
        ("uncaptured", "quality", SCORES[0].id)
    ]


def test_captures_are_found_again_among_many_of_their_second(engine: Engine) -> None:
    pages = [page("http://a.test/1", "2020", f"text {number}") for number in range(30)]
    captures = [replace(one.capture, source_file_offset=n) for n, one in enumerate(pages)]
    engine.write(Batch(captures=tuple(captures)))
    engine.refresh()
    ids = [capture_id(one.collection, one.source_file, one.source_file_offset) for one in captures]
    marks = [CaptureMark(id, captures[0].urlkey, captures[0].timestamp) for id in (*ids, "web/a@1")]
    found = marked_captures(engine, marks)
    assert list(found) == ids
    assert [one.source_file_offset for one in found.values()] == list(range(30))
