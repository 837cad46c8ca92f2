"""Playback scores of the small archive, with screenshots in a WARC file."""

import io
from pathlib import Path

from PIL import Image, ImageDraw

from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import Fault, PlaybackScore
from nwx.keys import capture_id
from nwx.model import Capture, RenderPlace
from nwx.values.urlkeys import urlkey
from tests.renders import render
from tests.warc_records import write_records
from tests.web.archive import HOME, HOME_TEXTS, HOSTILE_TITLE, HOSTILE_URL, capture

SIZE = (960, 540)
MISSING_CSS = "http://www.example.org/style.css"
HOSTILE_RESOURCE = "javascript:alert(6)//<script>alert(7)</script>"
OTHERS = 60


def drawn_page(*, styled: bool) -> bytes:
    """Return a screenshot of a page as PNG, with or without its colours and image."""
    image = Image.new("RGB", SIZE, "#f4f1ea" if styled else "white")
    draw = ImageDraw.Draw(image)
    if styled:
        draw.rectangle((0, 0, SIZE[0], 90), fill="#2b4a5e")
        draw.rectangle((560, 140, 900, 400), fill="#b8865a")
    draw.text((40, 36), "Quarry museum", fill="white" if styled else "black")
    for number in range(9):
        draw.rectangle((40, 150 + 30 * number, 480 - 25 * (number % 3), 158 + 30 * number), "#444")
    written = io.BytesIO()
    image.save(written, "PNG")
    return written.getvalue()


def score_of(found: Capture, value: float, **values: object) -> PlaybackScore:
    """Return the score of a capture."""
    base: dict[str, object] = {
        "id": capture_id(found.collection, found.source_file, found.source_file_offset),
        "collection": found.collection,
        "url": found.url,
        "urlkey": found.urlkey,
        "host": found.host,
        "domain": found.domain,
        "timestamp": found.timestamp,
        "checked": "20260101120000",
        "rules": "1",
        "score": value,
    }
    return PlaybackScore(**{**base, **values})  # type: ignore[arg-type]


HOME_CAPTURE = capture(HOME, "20090304050607", HOME_TEXTS[0], 0)
HOSTILE_CAPTURE = capture(HOSTILE_URL, "20150201000000", "Hostile address quarry", 101_000)
HOME_SCORE = capture_id("default", HOME_CAPTURE.source_file, 0)
HOSTILE_SCORE = capture_id("default", HOME_CAPTURE.source_file, 101_000)
BROKEN_SCORE = capture_id("default", HOME_CAPTURE.source_file, 900_000)


def write_checked(engine: Engine, folder: Path) -> None:
    """Store scores of a page without its style, a hostile one, and one with broken images."""
    folder.mkdir(exist_ok=True)
    path = folder / "renders.warc.gz"
    broken = "http://www.example.org/broken"
    records = [
        render(f"urn:view:{HOME}", drawn_page(styled=True), "image/png", "2009-03-04T05:06:07Z"),
        render(f"urn:view:{HOME}", drawn_page(styled=False), "image/png", "2009-03-04T05:06:07Z"),
        render(f"urn:view:{broken}", b"\x89PNG\r\n<script>", "image/png", "2009-03-04T05:06:07Z"),
    ]
    places, offset = [], 0
    for number in range(len(records)):
        write_records(path, records[: number + 1])
        places.append(RenderPlace(str(path), offset, path.stat().st_size - offset))
        offset = path.stat().st_size
    engine.quality_index().put(
        [
            _home(places),
            _hostile(places),
            score_of(
                capture(broken, "20100101000000", "broken", 900_000),
                0.5,
                crawl_view=places[2],
                playback_view=RenderPlace(str(folder / "gone.warc.gz"), 0, 1),
            ),
            *_others(),
        ]
    )


def _home(places: list[RenderPlace]) -> PlaybackScore:
    return score_of(
        HOME_CAPTURE,
        0.31,
        screenshot=0.617,
        structure=0.5,
        text=0.9996,
        crawl_good=14,
        crawl_bad=0,
        replay_good=11,
        replay_bad=3,
        worst_seconds=86_400 * 410,
        mean_seconds=86_400 * 3,
        faults=(
            Fault("console", detail="TypeError: $ is not a function"),
            Fault("missing", MISSING_CSS, 404),
            Fault("missing", "http://www.example.org/pictures/quarry.jpg"),
            Fault("leak", "https://cdn.example.com/jquery.js"),
        ),
        faults_total=7,
        crawl_view=places[0],
        playback_view=places[1],
        resources=(urlkey(MISSING_CSS),),
    )


def _hostile(places: list[RenderPlace]) -> PlaybackScore:
    return score_of(
        HOSTILE_CAPTURE,
        0.1,
        faults=(Fault("missing", HOSTILE_RESOURCE, None, HOSTILE_TITLE), Fault("<b>", "", 404)),
        faults_total=2,
        crawl_view=places[0],  # of a different page
    )


def _others() -> list[PlaybackScore]:
    return [
        score_of(
            capture(
                f"http://blog.example.com/{number}",
                f"{2005 + number % 12}0607080910",
                f"{number}",
                200_000 + number,
                collection="blogs",
            ),
            0.6 + number / 200,
            screenshot=0.9 + number / 1_000,
            faults=(Fault("far", f"http://blog.example.com/{number}.png"),) * (number % 2),
            faults_total=number % 2,
        )
        for number in range(OTHERS)
    ]
