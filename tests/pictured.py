"""Records of images and of pages that show them."""

import io
from collections.abc import Iterator

from PIL import ExifTags, Image, ImageDraw

from tests.warc_records import http_response, warc_bytes

SITE = "http://pictured.example/"
SHIP, COPY, CHART, BROKEN = (f"{SITE}{name}" for name in ("ship.png", "b.jpg", "c.png", "no.png"))
HOME, NEWS, LATER = SITE, f"{SITE}news", f"{SITE}later"

_HOME = """<title>Harbour news</title><p>The old harbour in the morning
<a href=/news title="All news"><img src=ship.png alt="A sailing ship"></a> with many boats.</p>
<img src=/gone.png alt="never captured"><script>var x = "script words"</script>"""
_NEWS = """<title>News</title><picture><source srcset="b.jpg 2x, /c.png 1x">
<img src=/ship.png title="Ship again"></picture><a href=c.png>The chart of the coast</a>"""
_LATER = "<title>Later</title><img data-src=gone.png alt='words of the gone'>"


def drawing(form: str = "PNG", size: tuple[int, int] = (400, 300), turn: int = 0) -> bytes:
    """Return an image of a blue sea with a white sail; each `turn` draws a different one."""
    image = Image.new("RGB", size, (30, 60, 200))
    pen = ImageDraw.Draw(image)
    wide, high = size
    if turn:
        pen.rectangle((0, 0, wide // 2, high // 3), fill=(250, 220, 40))
    else:
        pen.polygon([(wide // 2, 0), (wide, high), (wide // 2, high)], fill=(255, 255, 255))
    written = io.BytesIO()
    image.save(written, form)
    return written.getvalue()


def photograph(
    latitude: tuple[object, ...],
    longitude: tuple[object, ...],
    signs: str = "NE",
    taken: str = "",
    of: bytes = b"",
) -> bytes:
    """Return `of` or a drawing with a position (degrees, minutes, seconds) in its EXIF."""
    exif = Image.Exif()
    names = ExifTags.GPS
    exif.get_ifd(ExifTags.IFD.GPSInfo).update(
        {
            names.GPSLatitudeRef: signs[0],
            names.GPSLatitude: latitude,
            names.GPSLongitudeRef: signs[1],
            names.GPSLongitude: longitude,
        }
    )
    if taken:
        exif.get_ifd(ExifTags.IFD.Exif)[ExifTags.Base.DateTimeOriginal] = taken
    written = io.BytesIO()
    Image.open(io.BytesIO(of or drawing())).save(written, "JPEG", exif=exif)
    return written.getvalue()


def _response(url: str, body: bytes, kind: str, date: str) -> bytes:
    block = http_response(body, kind)
    return warc_bytes("response", block, id=f"{url} {date}", url=url, date=date)


def page_records() -> Iterator[bytes]:
    """Yield the records of the pages."""
    for url, text in ((HOME, _HOME), (NEWS, _NEWS), (LATER, _LATER)):
        yield _response(url, text.encode(), "text/html; charset=utf-8", "2010-05-01T00:00:00Z")


def image_records() -> Iterator[bytes]:
    """Yield the image records: one image has two versions, and one in another format."""
    yield _response(SHIP, drawing(), "image/png", "2010-05-01T00:00:05Z")
    yield _response(SHIP, drawing(turn=1), "image/png", "2015-05-01T00:00:05Z")
    yield _response(COPY, drawing("JPEG", (1_200, 900)), "image/jpeg", "2010-05-01T00:00:06Z")
    yield _response(CHART, drawing(size=(50, 40), turn=1), "image/png", "2010-05-01T00:00:07Z")
    yield _response(BROKEN, b"\x89PNG\r\n\x1a\nnothing", "image/png", "2010-05-01T00:00:08Z")


def late_records() -> Iterator[bytes]:
    """Yield the record of an image that a page has always shown."""
    gone = drawing(size=(80, 80))
    yield _response(f"{SITE}gone.png", gone, "image/png", "2010-05-01T00:00:09Z")
