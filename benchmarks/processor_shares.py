"""Processor time of a command's processes by kind, such as of the whole test run.

    python -m benchmarks.processor_shares make test

Samples all processes of the machine that start while the command runs: leave it alone. Time after
the last sample of a process, up to two seconds, is not counted.
"""

import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

KINDS = {
    "es.networkaddress": "Elasticsearch",
    "opensearch": "OpenSearch",
    "heritrix": "Heritrix",
    "pyspark": "Spark",
    "chromium": "Chromium",
    "mypy": "mypy",
    "multiprocessing": "fork servers and their children",
    "command_server": "commands",
    "nwx.bulk.child_pr": "guarded children",
    "gevent": "playback",
    "exec(eval(": "tests",
    "pytest": "pytest",
}
SECONDS = 2.0


def sample(times: dict[tuple[str, str], tuple[str, float]]) -> None:
    """Add the processor seconds of all running processes, by process id and start."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            values = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
        if values[0] != "Z":
            kind = next((name for text, name in KINDS.items() if text in command), "others")
            ticks = int(values[11]) + int(values[12])
            times[folder.name, values[19]] = kind, ticks / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run a command, and print the processor seconds of each kind of process."""
    before: dict[tuple[str, str], tuple[str, float]] = {}
    sample(before)
    after = dict(before)
    running = subprocess.Popen(sys.argv[1:])
    while running.poll() is None:
        time.sleep(SECONDS)
        sample(after)
    kinds: Counter[str] = Counter()
    for process, (kind, seconds) in after.items():
        kinds[kind] += seconds - before.get(process, ("", 0.0))[1]
    for kind, seconds in kinds.most_common():
        print(f"{kind:32}{seconds:9.0f} s {seconds / max(kinds.total(), 1):6.0%}")
    sys.exit(running.returncode)


if __name__ == "__main__":
    main()
