"""Renders are found for the captures of their pages, on every engine."""

import pytest

from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.model import Batch, Capture
from nwx.quality.stored_renders import (
    PageMoment,
    find_pictures,
    find_renders,
    has_renders,
)
from nwx.values.render_names import RenderKind, target_uri
from nwx.values.urlkeys import urlkey
from tests.conformance.archive import capture

ABOVE_ENGINES = True

PAGE = "http://www.example.org/page?b=2&a=1"
SECURE = "https://example.org/page/?a=1&b=2"
OTHER = "http://example.org/other"
LONE = "http://example.org/lone"
NAMELESS = "http://example.org/nameless"


def render(
    uri: str, timestamp: str, *, content_type: str = "image/png", collection: str = "web"
) -> Capture:
    """Return the capture of a render."""
    return capture(
        uri,
        timestamp,
        record_type="resource",
        status=None,
        content_type=content_type,
        collection=collection,
    )


PAGES = [
    capture(PAGE, "20100101000000"),
    capture(SECURE, "20150101000000", body="other"),
    capture(PAGE, "20150101000000", body="other", record_type="revisit"),
    capture(OTHER, "20150101000000"),
    capture(NAMELESS, "20150101000000"),
]
RENDERS = [
    render(target_uri(RenderKind.VIEW, PAGE), "20100101000010"),
    render(target_uri(RenderKind.VIEW, SECURE), "20100101000005"),
    render(f"thumbnail:{PAGE}", "20150101000007", content_type="image/jpeg"),
    render(f"screenshot:{SECURE}", "20150101000008", collection="second"),
    render(f"har:{PAGE}", "20141231235959", content_type="application/json"),
    render(target_uri(RenderKind.SNAPSHOT, OTHER), "20150101000001", content_type="text/html"),
    render(target_uri(RenderKind.FULL_PAGE, OTHER), "20150101000001"),
    render(target_uri(RenderKind.VIEW, LONE), "20200101000000"),
]
BATCHES = [Batch(captures=(*PAGES, *RENDERS))]


def found(archive: Engine, url: str, timestamp: str, collection: str = "") -> dict[str, list[str]]:
    """Return the seconds of the renders found, by kind."""
    renders = find_renders(archive, url, timestamp, collection)
    return {kind: [one.timestamp for one in some] for kind, some in renders.items()}


@pytest.mark.parametrize("url", [PAGE, SECURE, "http://example.org/page?b=2&a=1"])
def test_renders_belong_to_the_nearest_capture(archive: Engine, url: str) -> None:
    assert found(archive, url, "20100101000000") == {"view": ["20100101000005", "20100101000010"]}
    assert found(archive, url, "20150101000000") == {
        "har": ["20141231235959"],
        "thumbnail": ["20150101000007"],
        "view": ["20150101000008"],
    }


def test_a_moment_without_a_capture(archive: Engine) -> None:
    assert found(archive, PAGE, "2012") == {}
    assert found(archive, LONE, "19990101000000") == {"view": ["20200101000000"]}


def test_renders_of_a_collection(archive: Engine) -> None:
    assert found(archive, PAGE, "2015", "second") == {"view": ["20150101000008"]}
    assert found(archive, PAGE, "2015", "third") == {}


def test_pictures_of_many_pages(archive: Engine) -> None:
    asked = [
        PageMoment(PAGE, "20100101000000"),
        PageMoment(OTHER, "20150101000000"),
        PageMoment(NAMELESS, "20150101000000"),
        PageMoment("dns:example.org", "20150101000000"),
        PageMoment(SECURE, "20150101000000"),
        PageMoment(SECURE, "20150101000000"),
    ]
    pictures = find_pictures(archive, asked)
    assert [one and one.url for one in pictures] == [
        RENDERS[1].url,
        RENDERS[6].url,
        None,
        None,
        RENDERS[2].url,
        RENDERS[2].url,
    ]


def test_an_archive_with_and_without_renders(archive: Engine) -> None:
    assert has_renders(archive)


@pytest.mark.parametrize("one", RENDERS, ids=lambda one: one.url)
def test_each_render_is_noticed(engine: Engine, one: Capture) -> None:
    engine.write(Batch(captures=tuple(PAGES)))
    engine.refresh()
    assert not has_renders(engine)
    engine.write(Batch(captures=(one,)))
    engine.refresh()
    assert has_renders(engine)


def test_captures_near_a_moment(engine: Engine) -> None:
    url = "http://example.org/often"
    many = [capture(url, f"2010010100{n // 60:02}{n % 60:02}", offset=n) for n in range(1_500)]
    far = [capture(url, f"{year}", offset=10_000 + year) for year in (1996, 2030)]
    longest = capture("http://example.org/" + "x" * 9_000, "2010", offset=1)
    engine.write(Batch(captures=(*many, *far, longest)))
    engine.refresh()
    key = urlkey(url)

    def near(timestamp: str, most: int, *keys: str) -> list[str]:
        (some,) = engine.captures_near([KeysAtTime(keys or (key,), timestamp)], most)
        return [one.timestamp for one in some]

    assert near("20100101001000", 3) == ["20100101001000", "20100101000959", "20100101001001"]
    assert near("20310101000000", 2) == ["20300101000000", "20100101002459"]
    assert near("19900101000000", 2) == ["19960101000000", "20100101000000"]
    assert len(near("20100101000000", 10_000)) == 1_502
    assert near("20100101000000", 5, "nothing)/") == []
    assert engine.captures_near([], 5) == []
    asked = [KeysAtTime((key,), f"20100101000{n}00") for n in range(10)]
    assert [some[0].timestamp for some in engine.captures_near(asked, 1)] == [
        one.timestamp for one in asked
    ]


def test_captures_near_several_moments_are_those_near_each(engine: Engine) -> None:
    urls = [f"http://example.org/{name}" for name in ("once", "twice", "twice/more", "often")]
    years = {urls[0]: [2010], urls[1]: [2011, 2015], urls[2]: [2012], urls[3]: [*range(1996, 2026)]}
    made = [
        capture(url, f"{year}", offset=year + 10_000 * place)
        for place, (url, some) in enumerate(years.items())
        for year in some
    ]
    engine.write(Batch(captures=tuple(made)))
    engine.refresh()
    keys = [*((urlkey(url),) for url in urls), (urlkey(urls[1]), urlkey(urls[2])), ("none)/",)]
    asked = [KeysAtTime(keys[n % len(keys)], f"{1995 + n % 31}0601000000") for n in range(100)]
    for most in (1, 2, 40):
        alone = [engine.captures_near([one], most) for one in asked]
        assert engine.captures_near(asked, most) == [found for (found,) in alone]
    assert len(engine.captures_near(asked, 40)[3]) == 30


def test_keys_that_begin_so(engine: Engine) -> None:
    engine.write(Batch(captures=(capture("http://example.org/ab", "2010"),)))
    engine.refresh()
    assert engine.has_keys(["x", "org,example)/a"])
    assert not engine.has_keys(["org,example)/b", "ab"])
    assert not engine.has_keys([])
