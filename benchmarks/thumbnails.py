"""A page of 50 results with thumbnails: times of the search page and the pictures.

    python -m benchmarks.thumbnails [--pages 60] [--elastic]

Makes an archive of pages with screenshots of 1920 x 1080 as PNG, one with
JPEG thumbnails as stored by crawlers, and one without renders; requests the
first 50 results of each, and the pictures on them, one after the other: cold
(after a start), and warm (cached by the application). The peer is Pillow's
`Image.thumbnail` on the same bytes in a plain loop. Prints the least of three
runs in processor milliseconds, without Elasticsearch's work.
"""

import argparse
import html
import io
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from pathlib import Path
from statistics import median

from flask.testing import FlaskClient
from PIL import Image, ImageDraw

from nwx.engine.base import Engine, open_engine
from nwx.importing import ImportOptions, import_files
from nwx.settings import ServerSettings, Settings
from nwx.warc.sources import expand
from tests.elasticsearch.server import node
from tests.renders import page_record, render
from tests.warc_records import write_records
from webapp import create_app

RUNS = 3
SHOWN, DRAWN = 50, 10
DATE = "2020-01-01T00:00:00Z"
_SOURCE = re.compile(r'<img src="([^"]+)"')


def main() -> None:
    """Run the comparison and print its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--pages", type=int, default=60)
    options.add_argument("--elastic", action="store_true")
    given = options.parse_args()
    server = node() if given.elastic else nullcontext("")
    with tempfile.TemporaryDirectory() as folder, server as address:
        for form, size in (("", (0, 0)), ("JPEG", (640, 360)), ("PNG", (1_920, 1_080))):
            pictures = [screenshot(form, size, number) for number in range(DRAWN)] if form else []
            name = f"{form} {size[0]} x {size[1]}" if form else "no renders"
            path = write_archive(Path(folder) / f"{form or 'none'}.warc.gz", given.pages, pictures)
            print(f"\n{name}: {path.stat().st_size >> 10:,} KB")
            for place in filter(None, (f"{folder}/{form}", address)):
                settings = Settings(place, ServerSettings(prefix=form.lower() or "none"))
                measure(settings, path, "elastic" if place == address else "embedded")
            if pictures:
                shown = pictures * (SHOWN // DRAWN)
                least = min(cost(lambda some=shown: plain(some))[0] for _ in range(RUNS))
                print(f"  Pillow in a loop: {least:8.1f} ms for {SHOWN} pictures")


def screenshot(form: str, size: tuple[int, int], number: int) -> bytes:
    """Return a picture with the detail of a page: boxes of text and some gradients."""
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    draw = ImageDraw.Draw(image)
    for row in range(0, size[1], 14):
        draw.text((number % 40, row), f"line {row} of page {number} " * 12, fill="black")
    written = io.BytesIO()
    image.save(written, form)
    return written.getvalue()


def write_archive(path: Path, pages: int, pictures: Sequence[bytes]) -> Path:
    """Write pages, each with one of the pictures if there are any."""
    records = []
    for number in range(pages):
        url = f"http://site{number % 7}.example/{number}"
        records.append(page_record(url, DATE, f"quarry page {number}"))
        if pictures:
            payload = pictures[number % len(pictures)]
            kind = "image/png" if payload.startswith(b"\x89PNG") else "image/jpeg"
            records.append(render(f"urn:view:{url}", payload, kind, DATE))
    return write_records(path, records)


def measure(settings: Settings, path: Path, name: str) -> None:
    """Print the times of a page of results and its pictures."""
    with ExitStack() as stack:
        engine = stack.enter_context(open_engine(settings))
        engine.create()
        import_files(engine, settings, list(expand([str(path)])), ImportOptions(jobs=1))
        engine.refresh()
        client = create_app(engine).test_client()
        search_page(client)
        took = [cost(lambda: search_page(client)) for _ in range(9)]
        print(
            f"  {name:>8}: page of results {min(spent for spent, _ in took):6.1f} ms"
            f" (median {median(spent for spent, _ in took):.1f})"
        )
        sources = search_page(client)
        if sources:
            cold = min(cold_cost(engine, sources) for _ in range(RUNS))
            warm = min(cost(lambda: fetch(client, sources))[0] for _ in range(RUNS))
            print(f"            {len(sources)} pictures cold {cold:8.1f} ms, warm {warm:6.1f} ms")


def cold_cost(engine: Engine, sources: Sequence[str]) -> float:
    """Return the times of the pictures without cache."""
    client = create_app(engine).test_client()
    search_page(client)
    return cost(lambda: fetch(client, sources))[0]


def search_page(client: FlaskClient) -> list[str]:
    """Return the addresses of the images on a page of results."""
    answer = client.get(f"/search?q=quarry&per_page={SHOWN}")
    return [html.unescape(source) for source in _SOURCE.findall(answer.text)]


def fetch(client: FlaskClient, sources: Sequence[str]) -> None:
    """Request pictures; each answer must be a picture."""
    for source in sources:
        if client.get(source).status_code != 200:
            raise SystemExit(f"{source} is no picture")


def plain(pictures: Sequence[bytes]) -> None:
    """Scale pictures with Pillow alone."""
    for payload in pictures:
        image = Image.open(io.BytesIO(payload))
        image.thumbnail((320, 200))
        image.save(io.BytesIO(), "WEBP")


def cost(work: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of some work: of processor, and by the clock."""
    processor, clock = time.process_time(), time.perf_counter()
    work()
    return 1e3 * (time.process_time() - processor), 1e3 * (time.perf_counter() - clock)


if __name__ == "__main__":
    main()
