"""Requests per second of the search page and /api/search, compared with another version of nwx.

    python -m benchmarks.pages [--other CHECKOUT] [--documents 20000] [--clients 8]
        [--seconds 5] [--rounds 3]

Each version fills a separate archive with the same documents and serves it;
clients, each a process with one persistent connection, search for one or two
words and accept gzip, as browsers do. Each round draws new words, frequent
ones often, so that some questions repeat, as in a real service: /api/search
and the search page cache results. The versions are measured alternately, in
`--rounds` rounds. CHECKOUT is a folder with another version, as made by
`git worktree add`; it runs with the same installed libraries.
"""

import argparse
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.cdx_peers import tree_seconds
from benchmarks.cdx_server import Client
from benchmarks.corpus import Words

HERE = Path(__file__).parent.parent
FILL = """
import random, sys
from pathlib import Path
from benchmarks.corpus import Words, batches
from nwx.engine.embedded import EmbeddedEngine
with EmbeddedEngine(Path(sys.argv[1])) as engine:
    engine.create()
    for batch in batches(int(sys.argv[2]), Words(20_000, random.Random(0))):
        engine.write(batch)
"""
SERVE = "from nwx.cli.main import main; main()"
TARGETS = {"search page": "/search?q={}", "/api/search": "/api/search?q={}"}


def main() -> None:
    """Run the comparison and print its figures."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--other", type=Path)
    options.add_argument("--documents", type=int, default=20_000)
    options.add_argument("--clients", type=int, default=8)
    options.add_argument("--seconds", type=float, default=5)
    options.add_argument("--rounds", type=int, default=3)
    given = options.parse_args()
    versions = {"this version": HERE} | ({"the other": given.other} if given.other else {})
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        servers = {}
        for number, (name, checkout) in enumerate(versions.items()):
            archive = folder / str(number)
            command = [sys.executable, "-c", FILL, str(archive), str(given.documents)]
            subprocess.run(command, check=True, env=_environment(checkout), cwd=checkout)
            servers[name] = stack.enter_context(_serving(checkout, archive))
        for number in range(given.rounds):
            for place, (target, address) in enumerate(TARGETS.items()):
                # New words, the same for each version.
                seed = (number * len(TARGETS) + place) * given.clients
                for name, (port, process) in servers.items():
                    _measure(f"{target}, {name}", port, address, given, process.pid, seed)


def _environment(checkout: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(checkout.absolute()), "PYTHONUNBUFFERED": "1"}


@contextmanager
def _serving(checkout: Path, archive: Path) -> Iterator[tuple[int, "subprocess.Popen[str]"]]:
    command = [sys.executable, "-c", SERVE, "--engine", str(archive)]
    with subprocess.Popen(
        [*command, "serve", "--no-replay", "--port", "0"],
        env=_environment(checkout),
        cwd=checkout,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout
            found = re.search(r":(\d+)/", process.stdout.readline())
            assert found
            yield int(found[1]), process
        finally:
            process.terminate()


def _measure(
    name: str, port: int, address: str, given: argparse.Namespace, pid: int, seed: int
) -> None:
    work = [(port, address, given.seconds, seed + client) for client in range(given.clients)]
    before = tree_seconds(pid)
    with multiprocessing.get_context("spawn").Pool(given.clients) as pool:
        asked = sum(pool.starmap(_ask, work))
    busy = tree_seconds(pid) - before
    print(
        f"{name}, {given.clients} clients: {asked / given.seconds:,.0f} requests/s,"
        f" {busy / asked * 1000:.2f} ms of the processor each"
    )


def _ask(port: int, address: str, seconds: float, seed: int) -> int:
    """Return the number of requests that one client made."""
    chance, words = random.Random(seed), Words(20_000, random.Random(0))
    asked = 0
    with Client(port) as client:
        client.get(address.format("first"))
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            client.get(address.format("+".join(words.draw(chance.randint(1, 2), chance))))
            asked += 1
    return asked


if __name__ == "__main__":
    main()
