"""Renders of pages in WARC files: records by all conventions, with small images."""

import io
import json
from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw

from tests.warc_records import http_response, warc_bytes, write_records

PAGE = "http://www.example.org/page?b=2&a=1"
LATER = "https://example.org/page?b=2&a=1"


def picture(
    form: str = "PNG",
    size: tuple[int, int] = (640, 400),
    colour: str = "#2266aa",
    text: str = "",
) -> bytes:
    """Return an image of one colour with words on it."""
    image = Image.new("RGB", size, colour)
    ImageDraw.Draw(image).text((size[0] // 10, size[1] // 10), text or colour, fill="white")
    written = io.BytesIO()
    image.save(written, form)
    return written.getvalue()


def page_information(url: str, resources: dict[str, int], **more: object) -> bytes:
    """Return the block of a `pageinfo` record with resources and their status codes."""
    urls = {
        one: {"status": status, "mime": "text/html", "type": "document"}
        for one, status in resources.items()
    }
    return json.dumps(
        {"pageid": "1", "url": url, "urls": urls, "counts": {"jsErrors": 0}} | more
    ).encode()


def har(url: str, resources: dict[str, int]) -> bytes:
    """Return a HAR of resources and their status codes."""
    entries = [
        {
            "request": {"method": "GET", "url": one},
            "response": {"status": status, "content": {"mimeType": "text/html", "text": "x" * 99}},
        }
        for one, status in resources.items()
    ]
    page = {"startedDateTime": "2020-01-01T00:00:07.5Z", "id": "1", "title": url}
    return json.dumps({"log": {"version": "1.2", "pages": [page], "entries": entries}}).encode()


def render(uri: str, block: bytes, content_type: str, date: str, **fields: str) -> bytes:
    """Return a render record."""
    return warc_bytes(
        "resource",
        block,
        id=f"{uri} {date}",
        url=uri,
        date=date,
        content_type=content_type,
        **fields,
    )


def page_record(url: str, date: str, text: str = "a page") -> bytes:
    """Return a page record."""
    body = f"<html><head><title>{text}</title></head><body><p>{text}</p></body></html>".encode()
    return warc_bytes("response", http_response(body), id=f"{url} {date}", url=url, date=date)


def all_renders(url: str, date: str) -> list[bytes]:
    """Return one render of a page for each of the conventions."""
    info = page_information(url, {url: 200})
    return [
        render(f"urn:view:{url}", picture(text="view"), "image/png", date),
        render(f"urn:thumbnail:{url}", picture("JPEG", (320, 200)), "image/jpeg", date),
        render(f"urn:fullPage:{url}", picture(size=(640, 2000)), "image/png", date),
        render(f"urn:text:{url}", b"the text", "text/plain", date),
        render(f"urn:textFinal:{url}", b"the last text", "text/plain", date),
        render(f"urn:pageinfo:{url}", info, "application/json", date),
        render(f"screenshot:{url}", picture("JPEG"), "image/jpeg", date),
        render(f"thumbnail:{url}", picture("JPEG", (300, 190)), "image/jpeg", date),
        render(f"onreadydom:{url}", b"<script>alert(1)</script>", "text/html", date),
        render(f"har:{url}", har(url, {url: 200}), "application/json", date),
        render(f"imagemap:{url}", b"[]", "application/json", date),
        render(
            "urn:X-wpull:snapshot?url=" + url.replace("%", "%25").replace("&", "%26"),
            picture(),
            "image/png",
            date,
        ),
    ]


ALL_RENDERS = 12
"""The number of records from `all_renders`."""


def write_rendered(path: Path, records: Sequence[bytes] = ()) -> Path:
    """Write a WARC of a page with all renders, and of `records`."""
    page = page_record(PAGE, "2020-01-01T00:00:00Z", "the first page")
    renders = all_renders(PAGE, "2020-01-01T00:00:09Z")
    return write_records(path, [page, *renders, *records])
