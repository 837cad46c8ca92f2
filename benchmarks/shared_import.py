"""Several importers of one manifest into one Elasticsearch, compared with a single importer.

Makes WARC files, starts a server, and imports the files alternately with one
`nwx import --jobs 1` and with several that share them, each time into new
indices. Prints the clock time, the processor time of importers and server per
capture, and the captures stored by each importer.

    python -m benchmarks.shared_import --files 12 --pages 60 --importers 6
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.made_pages import made_files
from benchmarks.process_family import FamilyWatch, family_seconds
from benchmarks.scale import NWX
from tests.elasticsearch.server import node


@dataclass(frozen=True, slots=True)
class Shared:
    """The times of an import, of all importers and the server, and the captures by importer."""

    seconds: float
    importers: float
    server: float
    captures: Sequence[int]

    def line(self) -> str:
        """Return the figures on one line."""
        total = sum(self.captures)
        return (
            f"{len(self.captures)} importers: {self.seconds:.1f} s,"
            f" {self.importers / total * 1e3:.2f} ms of processor a capture,"
            f" server {self.server / total * 1e3:.2f} ms;"
            f" captures of each {', '.join(map(str, self.captures))}"
        )


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=12, help="how many to make")
    parser.add_argument("--pages", type=int, default=60, help="pages in each")
    parser.add_argument("--importers", type=int, default=6)
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nwx-bench-") as folder, node() as server:
        manifest = Path(folder) / "manifest"
        files = made_files(Path(folder), options.files, options.pages)
        manifest.write_text("\n".join(files) + "\n", encoding="utf-8")
        for turn in range(options.repeat):
            for importers in (1, options.importers):
                print(_imported(server, f"bench{turn}-{importers}", manifest, importers).line())


def _imported(server: str, prefix: str, manifest: Path, importers: int) -> Shared:
    environment = os.environ | {"NWX_ENGINE": server, "NWX_PREFIX": prefix}
    command = [NWX, "import", "--manifest", str(manifest), "--jobs", "1", "--json", "--quiet"]
    served, began = family_seconds(os.getpid()), time.monotonic()
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) for _ in range(importers)
    ]
    watches = [FamilyWatch(one.pid) for one in running]
    reports = [json.loads(one.communicate()[0]) for one in running]
    seconds = time.monotonic() - began
    for watch in watches:
        watch.stop()
    return Shared(
        seconds,
        sum(watch.processor for watch in watches),
        family_seconds(os.getpid()) - served,
        [report["captures"] for report in reports],
    )


if __name__ == "__main__":
    main()
