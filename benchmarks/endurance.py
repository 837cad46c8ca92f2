"""Endless kills and mutated files: work can always be finished, and archives stay consistent.

    python -m benchmarks.endurance --hours 8 [--files FOLDER ...] [--only kills|files]
    python -m benchmarks.endurance --only kills --seed 1234 --rounds 1
    python -m benchmarks.endurance --only store --rounds 12

Kills: commands on small archives are killed by SIGKILL at random moments
(the command, one of its children, or all), several times; then the work is
finished, and its result is compared with that of undisturbed work and
checked by `nwx check`. The workers of `nwx serve` and `nwx queue` are
killed during requests. Store: loads, POSTs, imports and backups of one
archive are killed (`benchmarks/endurance_store.py`), about 10 per round.

Files: real files are randomly changed (`benchmarks/mutated_files.py`) and
processed, many at a time, by `nwx import`, `check`, `cdx`, `dedup-cdx`,
`dedup-warc`, `cdx-load` and `nwx.records`. None may end with a traceback, take
more than MEMORY_BYTES or SECONDS, or leave an inconsistent archive.

Each round and each file has a seed; `--seed` repeats a failure.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import nwx
from benchmarks.endurance_kills import SAMPLE, KilledWork
from benchmarks.endurance_store import KilledStore
from benchmarks.mutated_files import MutatedFiles
from nwx.bulk.process_limits import limit_memory, set_deadline
from tests.cli.conftest import Ran, run_nwx

MEMORY_BYTES = 3 << 30
SECONDS = 300
_CODES = (0, 1)


class FailedError(Exception):
    """A failure found by a round."""


def main() -> None:
    """Run rounds until the time is over; the exit code is 1 after any failure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--hours", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=0, help="end after so many")
    parser.add_argument("--seed", type=int, default=0, help="of the first round or file")
    parser.add_argument("--only", choices=("kills", "store", "files"))
    parser.add_argument("--files", type=Path, action="append", default=[SAMPLE])
    parser.add_argument("--batch", type=int, default=500, help="files at a time")
    options = parser.parse_args()
    limit_memory(MEMORY_BYTES)
    seed = options.seed or random.randrange(1 << 40)
    counts: Counter[str] = Counter()
    mutated = MutatedFiles(options.files) if options.only in (None, "files") else None
    inputs = Path(tempfile.mkdtemp(prefix="nwx-endurance-inputs-"))
    killed = KilledWork(inputs) if options.only in (None, "kills") else None
    store = KilledStore() if options.only in (None, "store") else None
    end = time.monotonic() + 3600 * options.hours
    while time.monotonic() < end and not (options.rounds and counts["rounds"] >= options.rounds):
        if killed is not None:
            _try(counts, seed, lambda folder, seed=seed: counts.update(killed.round(seed, folder)))
        if store is not None:
            _try(counts, seed, lambda folder, seed=seed: counts.update(store.round(seed, folder)))
        if mutated is not None:
            _file_round(counts, mutated, range(seed, seed + options.batch))
            counts["mutated files"] += options.batch
        counts["rounds"] += 1
        seed += options.batch
        print(f"{time.strftime('%H:%M:%S')} next seed {seed}: {_told(counts)}", flush=True)
    shutil.rmtree(inputs)
    sys.exit(bool(counts["failures"]))


def _told(counts: Counter[str]) -> str:
    return ", ".join(f"{number:,} {name}" for name, number in sorted(counts.items()))


def _try(counts: Counter[str], seed: int, action: Callable[[Path], object]) -> bool:
    """Run an action on a folder; report a failure, and return whether it succeeded."""
    folder = Path(tempfile.mkdtemp(prefix="nwx-endurance-"))
    try:
        action(folder)
    except (FailedError, AssertionError, OSError, subprocess.SubprocessError) as error:
        counts["failures"] += 1
        print(f"FAILED, seed {seed}, kept in {folder}: {error}", flush=True)
        if not isinstance(error, FailedError):
            traceback.print_exc()
        return False
    shutil.rmtree(folder)
    return True


def _file_round(counts: Counter[str], mutated: MutatedFiles, seeds: range) -> None:
    """Try the files of these seeds together; after a failure try halves, down to one file."""
    if _try(counts, seeds[0], lambda folder: _try_files(mutated, seeds, folder)):
        return
    middle = len(seeds) // 2
    for some in (seeds[:middle], seeds[middle:]) if middle else ():
        _file_round(counts, mutated, some)


def _try_files(mutated: MutatedFiles, seeds: Sequence[int], folder: Path) -> None:
    """Run the commands on the files of these seeds; raises FailedError."""
    files = [mutated.write(seed, folder) for seed in seeds]
    lines = [path for path in files if ".cdx" in path.suffix]
    archives = [path for path in files if path not in lines]
    warcs = [path for path in archives if ".warc" in path.name]
    archive, out = folder / "archive", folder / "out.cdx"
    if archives:
        _run(archive, "import", "--jobs", 1, *archives)
        _run(archive, "check", codes=(0,))
        _run(archive, "cdx", "--jobs", 1, "-o", out, *archives)
        _read_records(archives)
    listed = [*lines, *[out] * out.exists()]
    _run(archive, "dedup-cdx", "--jobs", 1, "-o", folder / "list", *listed)
    if warcs and (folder / "list").exists():
        _run(archive, "dedup-warc", "-e", folder / "list", "-o", folder / "rewritten", *warcs)
    if lines:
        _run(archive, "cdx-load", "--collection", "lines", *lines)
        _run(archive, "check", codes=(0,))


def _run(archive: Path, *arguments: object, codes: tuple[int, ...] = _CODES) -> Ran:
    try:
        ran = run_nwx(archive, *arguments, code=None)
    except TimeoutError as error:
        raise FailedError(f"nwx {arguments[0]} does not end") from error
    if ran.code not in codes or "Traceback" in ran.out + ran.err:
        raise FailedError(f"nwx {arguments[0]}: code {ran.code}: …{(ran.out + ran.err)[-3000:]}")
    return ran


def _read_records(files: Sequence[Path]) -> None:
    """Read all records with the Python API, in a separate process that may crash."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        code = 0
        try:
            set_deadline(SECONDS)
            for path in files:
                for record in nwx.records(path):
                    _ = record.payload, list(record.headers)
        except BaseException:  # noqa: BLE001 - whatever it is, it is told
            code = 1
            os.write(writer, f"{path.name}: {traceback.format_exc()}".encode()[-3000:])
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        text = told.read().decode()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise FailedError(f"nwx.records: code {code}: {text}")


if __name__ == "__main__":
    main()
