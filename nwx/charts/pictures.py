"""Pictures of charts, drawn by vl-convert in a process of its own.

vl-convert runs Vega in a JavaScript engine: it takes a hundred megabytes and
blocks other threads while it draws. So each picture is drawn in a process of
its own, which ends afterwards and whose crash does not end the service. At
most two draw at once.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from threading import BoundedSemaphore
from typing import Literal

from nwx.charts.fields import Spec
from nwx.errors import NwxError

PictureFormat = Literal["svg", "png"]

TIMEOUT_SECONDS = 60
PNG_SCALE = 2.0
_WAIT_SECONDS = 15
_SLOTS = BoundedSemaphore(2)


class DrawingError(NwxError):
    """A chart that could not be drawn."""


class DrawingBusyError(DrawingError):
    """So many charts are being drawn that this one has to wait."""


def draw_picture(spec: Spec, looks: Spec, form: PictureFormat) -> bytes:
    """Return the picture of a Vega-Lite or Vega specification that carries its data.

    Raises DrawingError where it cannot be drawn, or not in time.
    """
    return _ask({"task": form, "spec": spec, "config": looks})


@cache
def browser_bundle() -> bytes:
    """Return the JavaScript by which browsers draw charts: `vegaEmbed`, Vega, Vega-Lite."""
    return _ask({"task": "bundle"})


def bundle_version() -> str:
    """Return the version of the bundle; another version may differ in every byte."""
    return version("vl-convert-python")


def _ask(task: Spec) -> bytes:
    with _slot():
        try:
            done = subprocess.run(
                [sys.executable, "-m", "nwx.charts.pictures"],
                # Half a surrogate pair is no text; the engine refuses it.
                input=json.dumps(task, ensure_ascii=False).encode(errors="replace"),
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise DrawingError(
                f"a chart was not drawn within {TIMEOUT_SECONDS} s; ask for fewer values"
            ) from error
    if done.returncode:
        reason = done.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"]
        raise DrawingError(f"a chart could not be drawn: {reason[-1][:300]}")
    return done.stdout


@contextmanager
def _slot() -> Iterator[None]:
    """Let two draw at once; the others wait, but not so long that nobody else is served."""
    if not _SLOTS.acquire(timeout=_WAIT_SECONDS):
        raise DrawingBusyError("other charts are being drawn; ask again in a moment")
    try:
        yield
    finally:
        _SLOTS.release()


def _draw(task: Spec) -> bytes:
    # Imported here: only the process that draws pays for it.
    import vl_convert

    if task["task"] == "bundle":
        bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
        return bundle.encode()
    spec, looks, svg = task["spec"], task["config"], task["task"] == "svg"
    # No chart of ours loads anything; none of its data can make it.
    nowhere: list[str] = []
    if "marks" in spec:
        whole = {**spec, "config": looks, "background": looks["background"]}
        if svg:
            return str(vl_convert.vega_to_svg(whole, allowed_base_urls=nowhere)).encode()
        return bytes(vl_convert.vega_to_png(whole, scale=PNG_SCALE, allowed_base_urls=nowhere))
    if svg:
        made: str = vl_convert.vegalite_to_svg(spec, config=looks, allowed_base_urls=nowhere)
        return made.encode()
    return bytes(
        vl_convert.vegalite_to_png(spec, config=looks, scale=PNG_SCALE, allowed_base_urls=nowhere)
    )


if __name__ == "__main__":
    sys.stdout.buffer.write(_draw(json.load(sys.stdin)))
