"""Writes an archive from the ledger's position on, like an import; meant to be killed.

python -m tests.unit.engine.embedded.importer FOLDER
"""

import sys
from dataclasses import replace
from pathlib import Path

from nwx.engine.embedded import EmbeddedEngine, writer
from nwx.model import Dates
from tests.unit.engine.embedded.making import batch, page

BATCHES = 40
COMMIT_SECONDS = 0.02


def main() -> None:
    """Write the missing batches."""
    writer.COMMIT_SECONDS = COMMIT_SECONDS
    with EmbeddedEngine(Path(sys.argv[1])) as engine:
        engine.create()
        files = engine.files()
        done = files[0].done_to if files else 0
        for number in range(done, BATCHES):
            pages = [page(10 * number + n, f"word{n} " * 50) for n in range(10)]
            # Every second batch has an earlier capture of a document in the previous batch.
            again = [page(10 * number - 3, "earlier", timestamp="20090101000000")]
            seen = Dates("http://a.org/ -", ((f"2010010100{number:04}", "web"),))
            made = batch(*pages, *again[: number % 2], done_to=number + 1)
            engine.write(replace(made, dates=(*made.dates, seen)))
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
