"""The cost of adding a date to a document captured very often.

    python -m benchmarks.hot_url http://127.0.0.1:9200 [--most 100000] [--at-once 5000]
    python -m benchmarks.hot_url FOLDER

Adds hourly dates to one document, on a server or in a new folder, up to `--most`, and prints the
time of adding one more in between: the least of a few.
"""

import argparse
import time
import uuid
from datetime import UTC, datetime, timedelta

from nwx.engine.base import open_engine
from nwx.model import Dates
from nwx.settings import ServerSettings, Settings

KEY = "http://news.example/ sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
FIRST = datetime(1996, 1, 1, tzinfo=UTC)
SAMPLE = 5
FEW = (100, 1_000)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--at-once", type=int, default=5_000)
    arguments = parser.parse_args()
    prefix = f"nwx-hot{uuid.uuid4().hex[:8]}"
    settings = Settings(arguments.address, ServerSettings(prefix=prefix, timeout_seconds=120))
    with open_engine(settings) as engine:
        engine.create()
        print("dates  one more, ms  processor of nwx, ms")
        known = 0
        steps = range(arguments.at_once, arguments.most + 1, arguments.at_once)
        for wanted in (0, *FEW, *steps):
            engine.append_dates([dates(known, wanted - known)])
            clocks, processors = [], []
            for number in range(SAMPLE):
                began, used = time.perf_counter(), time.process_time()
                engine.append_dates([dates(wanted + number, 1)])
                clocks.append(time.perf_counter() - began)
                processors.append(time.process_time() - used)
            print(f"{wanted:,}  {min(clocks) * 1000:.1f}  {min(processors) * 1000:.1f}", flush=True)
            known = wanted


def dates(first: int, count: int) -> Dates:
    """Return hourly dates."""
    moments = (FIRST + timedelta(hours=first + number) for number in range(count))
    return Dates(KEY, tuple((one.strftime("%Y%m%d%H%M%S"), "news") for one in moments))


if __name__ == "__main__":
    main()
