"""The speed of a monitor: lines of a crawl.log, compared with a sum by awk, and captures.

    python -m benchmarks.monitor [--lines N] [--captures N] [--runs N]

Both read the same generated log alternately; awk sums bytes by host and
minute, and statuses. Processor seconds include child processes.
"""

import argparse
import hashlib
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nwx.engine.base import open_engine
from nwx.model import Batch, Capture
from nwx.quality.monitor.monitor import Monitor, MonitorOptions
from nwx.settings import Settings

_BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
_HOSTS, _A_MINUTE = 3_000, 900
_AWK = """{
  split($4, url, "/"); minute = substr($1, 1, 16);
  statuses[$2]++; bytes[minute] += $3; hosts[url[3]] += $3; count[url[3]]++
} END { for (s in statuses) print s, statuses[s] }"""


def write_log(path: Path, lines: int) -> None:
    """Write a log of many hosts, a few of which have most URLs."""
    with path.open("w", encoding="ascii") as stream:
        for number in range(lines):
            time_ = _BEGIN + timedelta(seconds=60 * number / _A_MINUTE)
            digest = hashlib.sha1(str(number % 50_000).encode()).hexdigest()
            host = int(_HOSTS * (number * 0.618033 % 1) ** 3)
            status = (200, 200, 200, 200, 200, 200, 404, 301, 200, -2)[number % 10]
            mime = ("text/html", "image/jpeg", "text/css")[number % 3]
            stream.write(
                f"{time_:%Y-%m-%dT%H:%M:%S}.000Z {status:5} {number % 90_000:10}"
                f" http://www{host}.example.org/path/{number}.html LLE"
                f" http://www{host}.example.org/ {mime} #042"
                f" {time_:%Y%m%d%H%M%S}000+{number % 900} sha1:{digest[:32]} - 1t\n"
            )


def processor_seconds() -> float:
    """Return the CPU seconds of this process and its ended children."""
    own, children = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def timed(label: str, items: int, action: Callable[[], object]) -> float:
    """Run an action, print items per processor second, and return the seconds."""
    before, clock = processor_seconds(), time.perf_counter()
    action()
    seconds, elapsed = processor_seconds() - before, time.perf_counter() - clock
    print(
        f"{label:28} {items / seconds:12,.0f} a processor second  {seconds:7.2f} s, {elapsed:.2f} s"
    )
    return seconds


def main() -> None:
    """Measure log lines and captures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--captures", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "crawl.log"
        write_log(log, asked.lines)
        print(f"{asked.lines:,} lines, {log.stat().st_size / 1e6:,.0f} MB")
        measure_log(log, asked.lines, asked.runs)
        measure_captures(Path(folder), asked.captures)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{peak:,.0f} MB at most")


def measure_log(log: Path, lines: int, runs: int) -> None:
    """Measure awk and a monitor alternately."""
    command = ["awk", _AWK, str(log)]

    def by_awk() -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    awk, own = [], []
    for number in range(runs):
        awk.append(timed("awk", lines, by_awk))
        with open_engine(Settings(str(log.parent / f"archive{number}"))) as engine:
            options = MonitorOptions("bench", "web", log)
            monitor = Monitor(engine, options, clock=lambda: _BEGIN + timedelta(days=30))
            own.append(timed("monitor, with its state", lines, monitor.look))
            monitor.close()
    print(f"ratio of the best runs: {min(own) / min(awk):.1f}")


def measure_captures(folder: Path, count: int) -> None:
    """Measure captures of an archive in a folder."""
    with open_engine(Settings(str(folder / "archive"))) as engine:
        engine.create()
        for first in range(0, count, 5_000):
            found = (made_capture(number) for number in range(first, first + 5_000))
            engine.write(Batch(captures=tuple(found)))
        engine.refresh()
        monitor = Monitor(engine, MonitorOptions("captures", "web"))
        timed("captures, embedded", count, monitor.look)
        monitor.close()


def made_capture(number: int) -> Capture:
    """Return a capture without a document."""
    host = f"www{number % _HOSTS}.example.org"
    return Capture(
        collection="web",
        source_file=f"{number // 10_000}.warc.gz",
        source_file_offset=number % 10_000,
        record_length=1_000,
        record_type="response",
        url=f"http://{host}/{number}",
        urlkey=f"org,example,www{number % _HOSTS})/{number}",
        host=host,
        domain="example.org",
        public_suffix="org",
        timestamp=f"{_BEGIN + timedelta(seconds=number / 15):%Y%m%d%H%M%S}",
        digest=f"sha1:{number:032}",
        document_id=f"{number:032x}",
        status_code=200,
        content_type="text/html",
        content_type_norm="html",
        content_length=number % 90_000,
    )


if __name__ == "__main__":
    main()
