"""The images of the synthetic web."""

import io
import random
from functools import lru_cache

from PIL import Image, ImageDraw

SIZE = (240, 160)
_FORMATS = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP", "gif": "GIF"}
TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "webp": "image/webp",
    "gif": "image/gif",
    "svg": "image/svg+xml",
}


@lru_cache(4_096)
def image(name: str, size: tuple[int, int] = SIZE) -> bytes:
    """Return an image whose content is derived from its name, in the format of its extension."""
    ending = name.rpartition(".")[2]
    chance = random.Random(name)
    if ending == "svg":
        return _svg(chance, *size)
    drawn = Image.new("RGB", size, _colour(chance))
    draw = ImageDraw.Draw(drawn)
    for _ in range(12):
        left, top = chance.randrange(size[0]), chance.randrange(size[1])
        box = (left, top, left + chance.randrange(20, 90), top + chance.randrange(20, 70))
        (draw.ellipse if chance.random() < 0.5 else draw.rectangle)(box, fill=_colour(chance))
    stream = io.BytesIO()
    drawn.save(stream, _FORMATS[ending])
    return stream.getvalue()


def _colour(chance: random.Random) -> tuple[int, int, int]:
    return chance.randrange(256), chance.randrange(256), chance.randrange(256)


def _svg(chance: random.Random, width: int, height: int) -> bytes:
    shapes = "".join(
        f'<circle cx="{chance.randrange(width)}" cy="{chance.randrange(height)}"'
        f' r="{chance.randrange(5, 50)}" fill="rgb{_colour(chance)}"/>'
        for _ in range(10)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">'
        f'<rect width="100%" height="100%" fill="rgb{_colour(chance)}"/>{shapes}</svg>'
    ).encode()
