"""Renders created without a browser."""

import io
from dataclasses import replace
from typing import Any

from PIL import Image

from nwx.quality.browser.targets import PageRender, PlayedResource, RenderTask


def picture(kind: str = "PNG", size: tuple[int, int] = (40, 20)) -> bytes:
    """Return an image of one colour."""
    stored = io.BytesIO()
    Image.new("RGB", size, "teal").save(stored, kind)
    return stored.getvalue()


def render(url: str = "http://made.example/", **values: Any) -> PageRender:
    """Return the render of a page in playback with every field set."""
    found = PageRender(
        RenderTask(url, "20200101000000"),
        title="Made",
        view=picture(),
        thumbnail=picture("JPEG"),
        full_page=picture(size=(40, 60)),
        text="Hello",
        dom="<!DOCTYPE html><html><p>Hello</p></html>",
        resources=(
            PlayedResource(url, 200, "text/html", "document", "20200101000000"),
            PlayedResource(f"{url}gone.png", 404, "text/plain", "image"),
        ),
        js_errors=2,
        capture_timestamp="20200101000001",
        status=200,
    )
    return replace(found, **values)
