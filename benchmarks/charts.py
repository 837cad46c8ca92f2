"""The explorer of a freshly started server, and pictures of charts.

Serves the sample archive with an empty cache, and requests the explorer's
page, the chart libraries for browsers, and pictures of charts: new ones each
time, and the same again. The peer draws the same pictures with vl-convert's
command line, a new process for each. Prints milliseconds.

    python -m benchmarks.charts [--pictures 10]
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BIN = Path(sys.executable).parent
CRITERIA = ("month", "site", "type", "status", "size", "depth", "year", "tld")
PEER = """
import json, sys, vl_convert
sys.stdout.write(vl_convert.vegalite_to_svg(json.load(sys.stdin), allowed_base_urls=[]))
"""


@contextmanager
def server(archive: Path, cache: Path) -> Iterator[str]:
    """Yield the address of a server with empty caches."""
    process = subprocess.Popen(
        [str(BIN / "nwx"), "--engine", str(archive), "serve", "--port", "0", "--no-replay"],
        env={**os.environ, "NWX_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        found = re.search(r"http://\S+?(?=/ )", process.stdout.readline())
        assert found is not None
        yield found[0]
    finally:
        process.terminate()
        process.wait()


def fetched(address: str) -> float:
    """Return the milliseconds that a request takes."""
    request = urllib.request.Request(address, headers={"Accept-Encoding": "gzip"})
    began = time.perf_counter()
    with urllib.request.urlopen(request) as answer:
        answer.read()
    return (time.perf_counter() - began) * 1000


def drawn_by_peer(number: int) -> float:
    """Return the milliseconds of a picture drawn by a new process."""
    rows = [{"site": f"site {place}", "captures": place + number} for place in range(20)]
    axes = {"x": {"field": "captures", "type": "quantitative"}, "y": {"field": "site"}}
    spec = {"mark": "bar", "data": {"values": rows}, "encoding": axes}
    began = time.perf_counter()
    command = [sys.executable, "-c", PEER]
    subprocess.run(command, input=json.dumps(spec), text=True, capture_output=True, check=True)
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Measure a server after its first start, and after a restart."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=8)
    number = min(parser.parse_args().pictures, len(CRITERIA))
    sample = Path(__file__).parent.parent / "sample" / "archive"
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive"
        nwx = [str(BIN / "nwx"), "--engine", str(archive)]
        subprocess.run([*nwx, "import", "--quiet", str(sample)], check=True)
        subprocess.run([*nwx, "build-facets", "--quiet"], check=True)
        for start in ("first start", "second start"):
            with server(archive, Path(folder) / "cache") as address:
                print(start)
                measure(address, number)
    alone = statistics.median(map(drawn_by_peer, range(number)))
    print(f"a process for each picture  {alone:6.0f}")


def measure(address: str, number: int) -> None:
    """Print the times of the requests to a server."""
    pictures = [f"{address}/explore/chart.svg?by={name}" for name in CRITERIA[:number]]
    print(f"  page                      {fetched(f'{address}/explore'):6.0f}")
    print(f"  page again                {fetched(f'{address}/explore'):6.0f}")
    print(f"  libraries                 {fetched(f'{address}/explore/vega.js'):6.0f}")
    print(f"  first picture             {fetched(pictures[0]):6.0f}")
    print(f"  other pictures, median    {statistics.median(map(fetched, pictures[1:])):6.0f}")
    print(f"  the same again, median    {statistics.median(map(fetched, pictures)):6.0f}")


if __name__ == "__main__":
    main()
