"""Times of a grid of 50 pictures with thumbnails, and of searches for similar pictures.

    python -m benchmarks.pictures [--images 300] [--entries 100000] [--repetitions 5]

Imports a WARC file of generated photographs and pages that show them, and
builds its pictures. Then requests a page of 50 and its 50 thumbnails from the
web application: first with empty caches, then again (warm). For comparison,
Pillow scales the same 50 images from memory. Then pictures with generated
words and hashes are put into another index, and searches in it are compared
with a plain FTS5 table of the same words. Prints milliseconds by clock and of
processor, the least of the repetitions.
"""

import argparse
import io
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path

import numpy as np
from PIL import Image

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.picture_index import Appearance, Picture, PictureQuestion
from nwx.importing import ImportOptions, import_files
from nwx.keys import document_id
from nwx.pictures.build import build_pictures
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.warc_records import http_response, warc_bytes, write_records
from webapp import create_app

_SITE = "http://photos.example/"
_SIDE = (1_200, 900)
_AT_ONCE = 2_000
_WORDS = [f"word{number}" for number in range(5_000)]


def main() -> None:
    """Time a grid of pictures, then searches among many."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--images", type=int, default=300)
    options.add_argument("--entries", type=int, default=100_000)
    options.add_argument("--repetitions", type=int, default=5)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        time_grid(Path(name), given.images, given.repetitions)
        time_searches(Path(name), given.entries, given.repetitions)


def photograph(number: int) -> bytes:
    """Return a JPEG with smooth colours and some noise, like a photograph."""
    chance = np.random.default_rng(number)
    small = Image.fromarray(chance.integers(0, 255, (12, 16, 3), dtype=np.uint8))
    smooth = np.asarray(small.resize(_SIDE, Image.Resampling.BICUBIC)).astype(np.int16)
    noisy = np.clip(smooth + chance.integers(-8, 8, smooth.shape), 0, 255).astype(np.uint8)
    written = io.BytesIO()
    Image.fromarray(noisy).save(written, "JPEG", quality=85)
    return written.getvalue()


def time_grid(folder: Path, images: int, repetitions: int) -> None:
    """Print the times of a page of 50 and its thumbnails."""
    photographs = [photograph(number) for number in range(images)]
    records = []
    for number, body in enumerate(photographs):
        url = f"{_SITE}{number}.jpg"
        records.append(warc_bytes("response", http_response(body, "image/jpeg"), id=url, url=url))
        page = f"<p>about {number}<img src=/{number}.jpg alt='photograph of harbour {number}'>"
        url = f"{_SITE}{number}.html"
        records.append(warc_bytes("response", http_response(page.encode()), id=url, url=url))
    path = write_records(folder / "photos.warc.gz", records)
    settings = Settings(str(folder / "archive"))
    with EmbeddedEngine(folder / "archive") as engine:
        engine.create()
        import_files(engine, settings, list(expand([str(path)])), ImportOptions(jobs=1))
        work = time.process_time()
        report = build_pictures(engine, workers=1)
        work = time.process_time() - work
        print(
            f"{report.pictures} images of {_SIDE[0]} x {_SIDE[1]} and {report.pages} pages built:"
            f" {1000 * work / report.pictures:.0f} ms of processor an image"
        )
        plain = least(lambda: [_scaled(body) for body in photographs[:50]], 1)
        client = create_app(engine).test_client()

        def grid() -> int:
            page = client.get("/pictures?q=harbour").text
            found = re.findall(r'src="(/thumbnail[^"]+)"', page)
            return sum(client.get(unescape(one)).status_code == 200 for one in found)

        cold = least(grid, 1)
        warm = least(grid, repetitions)
        alone = least(lambda: client.get("/pictures?q=harbour").status_code, repetitions)
        assert grid() == 50
    _print("50 scaled by Pillow alone, from memory", plain)
    _print("page of 50 and thumbnails, first", cold)
    _print("page of 50 and thumbnails, warm", warm)
    _print("page of 50 alone, warm", alone)


def _scaled(body: bytes) -> bytes:
    image = Image.open(io.BytesIO(body))
    image.thumbnail((320, 200))
    written = io.BytesIO()
    image.save(written, "WEBP", quality=75, method=2)
    return written.getvalue()


def time_searches(folder: Path, entries: int, repetitions: int) -> None:
    """Print the times of searches among many pictures, and in a plain FTS5 table."""
    with EmbeddedEngine(folder / "many") as engine:
        engine.create()
        work = time.process_time()
        texts = fill(engine, entries)
        print(f"{entries:,} pictures put: {time.process_time() - work:.1f} s of processor")
        db = sqlite3.connect(folder / "plain.db")
        db.execute("CREATE VIRTUAL TABLE words USING fts5(text)")
        db.executemany("INSERT INTO words VALUES (?)", ((text,) for text in texts))
        db.commit()
        index = engine.picture_index()
        plain = "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT 50"
        for words in ("word7", "word7 OR word8 OR word9", "common"):
            question = PictureQuestion(words)
            _print(f"search {words}", least(lambda q=question: index.search(q), repetitions))
            asked = least(lambda w=words: db.execute(plain, (w,)).fetchall(), repetitions)
            _print(f"plain FTS5 {words}", asked)
        _print(
            "all, blue",
            least(lambda: index.search(PictureQuestion(colours=("blue",))), repetitions),
        )
        _print("similar", least(lambda: index.similar(12345, 50), repetitions))
        db.close()


def fill(engine: Engine, entries: int) -> list[str]:
    """Store pictures with one page each, and return the words of the pages."""
    chance = random.Random(1)
    texts = []
    for start in range(0, entries, _AT_ONCE):
        pictures, pages = [], []
        for number in range(start, min(start + _AT_ONCE, entries)):
            url = f"http://h{number % 97}.example/{number}.jpg"
            id = document_id(url)
            text = " ".join(chance.choices(_WORDS, k=30)) + (" common" if number % 3 == 0 else "")
            texts.append(text)
            pictures.append(
                Picture(
                    *(id, url, f"example,h{number % 97})/{number}.jpg", f"h{number % 97}.example"),
                    *(f"h{number % 97}.example", "web", "20100101000000", id, "image/jpeg"),
                    *(chance.randrange(20, 3_000), chance.randrange(20, 3_000), 1_000),
                    *(chance.getrandbits(64), (chance.choice(("blue", "red", "green")),)),
                )
            )
            page = document_id(f"page {number}")
            pages.append(
                Appearance(
                    *(page, f"{url}.html", "A title", "20100101000000", "web"),
                    *(pictures[-1].urlkey, id),
                    around=text,
                )
            )
        engine.picture_index().put(pictures, pages)
    return texts


def least(work: Callable[[], object], repetitions: int) -> tuple[float, float]:
    """Return the least milliseconds by clock and of processor."""
    took = []
    for _ in range(repetitions):
        began, processor = time.perf_counter(), time.process_time()
        work()
        took.append((time.perf_counter() - began, time.process_time() - processor))
    clock, processor = (min(column) for column in zip(*took, strict=True))
    return 1000 * clock, 1000 * processor


def _print(name: str, took: tuple[float, float]) -> None:
    print(f"{name:42} {took[0]:8.1f} ms {took[1]:8.1f} ms of processor")


if __name__ == "__main__":
    main()
