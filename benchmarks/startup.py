"""Start-up time of short commands, compared with other commands written in Python.

Runs them alternately and prints processor time and seconds, the least of
several runs: the time of a command before it does anything. `python -c pass`
is the minimum for all of them.

    python -m benchmarks.startup [--times 9]
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(sys.executable).parent
NOTHING = "python -c pass"


def commands(archive: Path) -> dict[str, list[str]]:
    """Return the commands by their display names."""
    nwx = [str(BIN / "nwx"), "--engine", str(archive)]
    return {
        NOTHING: [sys.executable, "-c", "pass"],
        "nwx --help": [*nwx, "--help"],
        "nwx search --help": [*nwx, "search", "--help"],
        "nwx import --help": [*nwx, "import", "--help"],
        "nwx stats": [*nwx, "stats"],
        "nwx files": [*nwx, "files"],
        "nwx search lantern": [*nwx, "search", "lantern"],
        "warcio --help": [str(BIN / "warcio"), "--help"],
        "cdx-indexer --help (pywb)": [str(BIN / "cdx-indexer"), "--help"],
        "wb-manager --help (pywb)": [str(BIN / "wb-manager"), "--help"],
    }


def run(command: list[str]) -> tuple[float, float]:
    """Return the processor seconds and the clock seconds of a run."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    seconds, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime, seconds


def main() -> None:
    """Run all commands alternately, several times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=9)
    times = parser.parse_args().times
    sample = Path(__file__).parent.parent / "sample" / "archive"
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(folder) / "archive"
        nwx = [str(BIN / "nwx"), "--engine", str(archive)]
        subprocess.run([*nwx, "import", "--quiet", str(sample)], check=True)
        chosen = commands(archive)
        least = {name: (float("inf"), float("inf")) for name in chosen}
        for _ in range(times):
            for name, command in chosen.items():
                used, seconds = run(command)
                least[name] = (min(least[name][0], used), min(least[name][1], seconds))
    nothing = least[NOTHING][0]
    for name, (used, seconds) in least.items():
        share = used / nothing if nothing else 0.0
        print(f"{name:28} {used * 1000:5.0f} ms of processor {seconds * 1000:5.0f} ms {share:5.1f}")


if __name__ == "__main__":
    main()
