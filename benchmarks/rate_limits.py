"""The cost of request counts and client limits for a short CDX answer.

    python -m benchmarks.rate_limits [--rounds 15]

Look-ups in an empty archive are answered in this process as by the server: without either, with
counts, with both. The least processor time of the rounds is printed.
"""

import argparse
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from nwx import Archive
from nwx.engine.embedded import EmbeddedEngine
from nwx.settings import ProtectionSettings
from webapp import create_app
from webapp.cdx.routes import at_once_of
from webapp.server.protection import SharedProtection
from webapp.server.wsgi_answers import SLOW_PAUSE_SECONDS, WsgiBridge

REQUESTS = 300
WAYS = {"neither": None, "counts": 0.0, "counts and limits": 1e9}


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=15)
    rounds = options.parse_args().rounds
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        engine = stack.enter_context(EmbeddedEngine(folder / "archive"))
        engine.create()
        bridges = {name: _bridge(stack, engine, rate) for name, rate in WAYS.items()}
        least = {
            name: min(_measure(bridge) for _ in range(rounds)) for name, bridge in bridges.items()
        }
        for name, micros in least.items():
            print(f"{name}: {micros:.1f} µs, {micros - least['neither']:+.1f}")


def _bridge(stack: ExitStack, engine: EmbeddedEngine, rate: float | None) -> WsgiBridge:
    app, counts = create_app(engine), None
    if rate is not None:
        shared = SharedProtection.create(stack, ProtectionSettings(rate), 2)
        counts = shared.protect(app, stack, Archive.over(engine))
    bridge = WsgiBridge(app, 1, ("127.0.0.1", 80), at_once_of(app), counts)
    stack.callback(bridge.end)
    return bridge


def _measure(bridge: WsgiBridge) -> float:
    """Return the processor microseconds of a look-up."""
    host = [(b"host", b"127.0.0.1")]
    started, answered = time.process_time(), 0
    for number in range(REQUESTS):
        query = b"url=http://%d.example/" % number
        environ = bridge.environ_of("GET", "1.1", b"/cdx", query, host)
        environ["REMOTE_ADDR"] = "192.0.2.1"
        answered += bridge.answer_at_once(environ) is not None
    seconds = time.process_time() - started
    if answered < REQUESTS:  # on a busy machine, threads answer for a while
        time.sleep(SLOW_PAUSE_SECONDS)
        return float("inf")
    return seconds / answered * 1e6


if __name__ == "__main__":
    main()
