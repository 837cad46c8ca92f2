"""The single writer of an embedded archive, fed with documents staged by other processes.

Stages documents in processes, as an import does, and then writes them: prints
documents per second and processor time per document of both, and the writer's
share. `--unstaged` also writes plain batches with `Engine.write` into another
archive in the same run.

    python -m benchmarks.writing --documents 100000
"""

import argparse
import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

from benchmarks.corpus import Words, batches
from nwx.engine.base import StagedBatch
from nwx.engine.embedded import EmbeddedEngine
from nwx.model import Batch

_readers: dict[str, EmbeddedEngine] = {}


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=2_000, help="documents in each")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--unstaged", type=int, default=0, help="documents to write as they are")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nwx-bench-") as folder:
        _staged(options, Path(folder, "staged"))
        if options.unstaged:
            with EmbeddedEngine(Path(folder, "plain")) as engine:
                engine.create()
                _write("written as they are", options.unstaged, _plain(engine, options))


def _made(options: argparse.Namespace, documents: int) -> Iterator[Batch]:
    return batches(documents, Words(30_000, random.Random(1)), size=options.batch)


def _staged(options: argparse.Namespace, archive: Path) -> None:
    with EmbeddedEngine(archive) as engine:
        engine.create()
        began = time.perf_counter()
        with get_context("spawn").Pool(options.jobs) as pool:
            tasks = ((str(archive), batch) for batch in _made(options, options.documents))
            found = list(pool.imap_unordered(_stage, tasks))
        seconds, worked = time.perf_counter() - began, sum(one for _, one in found)
        staged = [one for one, _ in found]
        _print("staged", options.documents, seconds, worked)
        writing = _write("written", options.documents, lambda: _write_staged(engine, staged))
        print(f"the writer has {writing / (writing + worked):.1%} of the processor time")


def _stage(task: tuple[str, Batch]) -> tuple[StagedBatch, float]:
    archive, batch = task
    if archive not in _readers:
        _readers[archive] = EmbeddedEngine(Path(archive), read_only=True)
    worked = time.process_time()
    staged = _readers[archive].stage(batch)
    return staged, time.process_time() - worked


def _write_staged(engine: EmbeddedEngine, staged: list[StagedBatch]) -> None:
    for one in staged:
        engine.write_staged(one)
    engine.close()


def _plain(engine: EmbeddedEngine, options: argparse.Namespace) -> Callable[[], None]:
    made = list(_made(options, options.unstaged))

    def write() -> None:
        for batch in made:
            engine.write(batch)
        engine.close()

    return write


def _write(name: str, documents: int, write: Callable[[], None]) -> float:
    os.sync()
    began, worked = time.perf_counter(), time.process_time()
    write()
    worked = time.process_time() - worked
    _print(name, documents, time.perf_counter() - began, worked)
    return worked


def _print(name: str, documents: int, seconds: float, worked: float) -> None:
    print(
        f"{name:20} {seconds:7.1f} s {documents / seconds:8.0f} documents/s"
        f" {1e3 * worked / documents:6.3f} ms of processor each",
        flush=True,
    )


if __name__ == "__main__":
    main()
