"""The Python API: its import, a million captures as an Arrow table, and a command for comparison.

    python -m benchmarks.python_api [--captures 1000000] [--times 5] [--folder FOLDER]

Captures are from `benchmarks.cdx_server`. The table is made in a separate process, and compared
with parsing the same captures from CDX text in Python. Prints seconds, the memory of the process
without mapped files, and the growth due to the table.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.cdx_server import write_index

_MEASURED = """
import sys, time
import nwx, pyarrow, polars
def megabytes():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) / 1000
captures = nwx.open(sys.argv[1]).captures()
captures[:1]
before, begun = megabytes(), time.perf_counter()
{made}
seconds = time.perf_counter() - begun
print(f"{{seconds:.2f}} {{megabytes():.0f}} {{megabytes() - before:.0f}} {{rows}}")
"""
WAYS = {
    "to_arrow()": "table = captures.to_arrow(); rows = table.num_rows",
    "to_polars()": "table = captures.to_polars(); rows = table.height",
    "CDX text, a list of lists": (
        "text = b''.join(captures.lines()).decode();"
        " table = [line.split(' ') for line in text.splitlines()]; rows = len(table)"
    ),
    "CDX text, to Arrow columns": (
        "text = b''.join(captures.lines()).decode();"
        " lines = [line.split(' ') for line in text.splitlines()];"
        " table = pyarrow.table(dict(zip(captures.columns, map(list, zip(*lines)))));"
        " rows = table.num_rows"
    ),
}


def main() -> None:
    """Run all ways alternately, several times, and print the least of each."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--captures", type=int, default=1_000_000)
    options.add_argument("--times", type=int, default=5)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        place = folder / "archive"
        if not place.exists():
            index = write_index(folder, given.captures, 0)
            nwx = Path(sys.executable).parent / "nwx"
            subprocess.run([nwx, "--engine", place, "cdx-load", index], check=True)
        print_imports(given.times)
        print_tables(place, given.times)


def print_imports(times: int) -> None:
    """Print the milliseconds of `import nwx` minus those of an empty program."""
    program = "import time; t = time.perf_counter(); import nwx; print(time.perf_counter() - t)"
    least = min(float(run("-c", program)) for _ in range(times))
    print(f"{'import nwx':32} {least * 1000:8.1f} ms")


def print_tables(place: Path, times: int) -> None:
    """Print seconds and memory of each way, and the ratio to the first."""
    found: dict[str, list[float]] = {}
    for _ in range(times):
        for name, made in WAYS.items():
            words = run("-c", _MEASURED.format(made=made), place).split()
            numbers = list(map(float, words))
            found[name] = min(found.get(name, numbers), numbers)
    first = found["to_arrow()"][0]
    for name, (seconds, most, more, rows) in found.items():
        print(
            f"{name:32} {seconds:6.2f} s {most:6.0f} MB, {more:5.0f} MB of it the table,"
            f" {rows:,.0f} captures, {seconds / first:5.2f} times to_arrow()"
        )


def run(*arguments: object) -> str:
    """Return the output of a Python program."""
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
