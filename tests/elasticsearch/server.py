"""A real Elasticsearch or OpenSearch for the tests.

    python -m tests.elasticsearch.server prepare [PRODUCT]  download and assemble it
    python -m tests.elasticsearch.server run [PRODUCT]      run it in the foreground

The tests share one server (`running`). A supervisor, a separate process, starts the server and
keeps it running until no process holds the lock of its state folder: locks end with their
processes, so that the server also ends if the tests are killed.
"""

import argparse
import ctypes
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests.elasticsearch.distribution import ELASTICSEARCH
from tests.elasticsearch.downloads import DistributionError
from tests.elasticsearch.jdk import JdkError
from tests.elasticsearch.product import FRUGAL, Product
from tests.maven import MavenError
from tests.opensearch.distribution import OPENSEARCH

PRODUCTS = {one.name: one for one in (ELASTICSEARCH, OPENSEARCH)}
CHECKOUT = Path(__file__).parent.parent.parent
HEAP = "768m"
START_SECONDS = 240
STOP_SECONDS = 30
_ROOM = 4 << 30
_PR_SET_PDEATHSIG = 1
_CONFIGURATION = """\
cluster.name: nwx-tests
discovery.type: single-node
network.host: 127.0.0.1
http.port: 0
transport.port: 0
path.data: {folder}/data
path.logs: {folder}/logs
path.repo: {folder}/snapshots
cluster.routing.allocation.disk.threshold_enabled: false
cluster.max_shards_per_node: 10000
action.auto_create_index: false
gateway.write_dangling_indices_info: false
"""


class ServerError(Exception):
    """A server that did not start."""


@contextmanager
def running(state: Path, product: Product = ELASTICSEARCH) -> Iterator[str]:
    """Yield the address of a server shared by all processes with the same `state` folder."""
    lock = _hold(state)
    supervisor = None
    try:
        with (state / "start.lock").open("a") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            if not (state / "supervisor.log").exists():
                supervisor = _start_supervisor(state, product)
            address = _wait_for_address(state)
        yield address
    finally:
        lock.close()
        if supervisor is not None:
            supervisor.wait()


def _hold(state: Path) -> IO[str]:
    """Return a shared lock of a state folder that no supervisor is about to remove."""
    path = state / "users.lock"
    while True:
        state.mkdir(parents=True, exist_ok=True)
        lock = path.open("a")
        fcntl.flock(lock, fcntl.LOCK_SH)
        if path.exists() and os.path.samestat(os.fstat(lock.fileno()), path.stat()):
            return lock
        lock.close()


def _start_supervisor(state: Path, product: Product) -> "subprocess.Popen[bytes]":
    with (state / "supervisor.log").open("w") as log:
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.elasticsearch.server",
                "supervise",
                str(state),
                product.name,
            ],
            cwd=CHECKOUT,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _wait_for_address(state: Path) -> str:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if (state / "address").exists():
            return (state / "address").read_text(encoding="utf-8")
        if (state / "error").exists():
            raise ServerError((state / "error").read_text(encoding="utf-8"))
        time.sleep(0.1)
    raise ServerError(
        f"the test server did not start in {START_SECONDS} s: "
        f"{(state / 'supervisor.log').read_text(encoding='utf-8')[-2000:]}"
    )


def supervise(state: Path, product: Product) -> None:
    """Run a server until no process holds the lock of the state folder."""
    with (state / "users.lock").open("a") as lock:
        try:
            with node(product) as address:
                _publish(state / "address", address)
                _wait_for_lock(lock)
        except (ServerError, DistributionError, JdkError, MavenError) as error:
            _publish(state / "error", str(error))
            _wait_for_lock(lock)
        shutil.rmtree(state, ignore_errors=True)


def _publish(path: Path, text: str) -> None:
    """Write a file atomically."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.rename(path)


def _wait_for_lock(lock: IO[str]) -> None:
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.3)


@contextmanager
def node(product: Product = ELASTICSEARCH, *, frugal: bool = True) -> Iterator[str]:
    """Run a single-node server on free ports and yield its address; it ends with this process.

    Unless `frugal`, it is compiled with the vendor's settings: for benchmarks.
    """
    home = product.prepare()
    folder = Path(tempfile.mkdtemp(prefix=f"nwx-{product.name}-node-", dir=_in_memory()))
    process = None
    try:
        options = f"-Xms{HEAP} -Xmx{HEAP} {FRUGAL if frugal else ''}"
        process = _start(product, home, folder, options)
        yield _wait_until_ready(process, folder)
    finally:
        if process is not None:
            _stop(process)
        shutil.rmtree(folder, ignore_errors=True)


def _in_memory() -> str | None:
    """Return a folder in memory if there is one with room, as servers sync each write to disk."""
    shared = Path("/dev/shm")
    if shared.is_dir() and os.access(shared, os.W_OK | os.X_OK):
        return str(shared) if shutil.disk_usage(shared).free > _ROOM else None
    return None


def _start(
    product: Product, home: Path, folder: Path, java_options: str
) -> subprocess.Popen[bytes]:
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir()
    shutil.copytree(home / "config", folder / "config")
    options = folder / "config" / "jvm.options"
    kept = [line for line in options.read_text().splitlines() if "-Xlog:gc" not in line]
    options.write_text("\n".join(kept) + "\n")  # an unread log in a shared folder
    (folder / "config" / f"{product.name}.yml").write_text(
        _CONFIGURATION.format(folder=folder) + product.settings, encoding="utf-8"
    )
    if os.geteuid() == 0:
        home = readable_by_all(home, folder)
        for path in [folder, *folder.rglob("*")]:
            shutil.chown(path, "nobody")
    with (folder / "logs" / "console.log").open("wb") as log:
        return subprocess.Popen(
            [str(home / "bin" / product.name)],
            cwd=folder,
            env=os.environ | product.environment(folder, java_options),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            user="nobody" if os.geteuid() == 0 else None,  # the server refuses to run as root
            start_new_session=True,
            preexec_fn=end_with_parent,
        )


def readable_by_all(home: Path, folder: Path) -> Path:
    """Return the server's folder, or a copy if other users cannot access it."""
    if all(path.stat().st_mode & 0o005 == 0o005 for path in [home, *home.resolve().parents]):
        return home
    return Path(shutil.copytree(home, folder / "home"))


def end_with_parent() -> None:
    """Make a starting process receive SIGTERM when its parent ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _wait_until_ready(process: subprocess.Popen[bytes], folder: Path) -> str:
    ports = folder / "logs" / "http.ports"
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if ports.exists() and "127.0.0.1:" in ports.read_text(encoding="utf-8"):
            address = "http://" + next(
                line for line in ports.read_text(encoding="utf-8").split() if "127.0.0.1" in line
            )
            urllib.request.urlopen(f"{address}/_cluster/health?wait_for_status=green").close()
            return address
        time.sleep(0.1)
    log = (folder / "logs" / "console.log").read_text(encoding="utf-8", errors="replace")
    raise ServerError(f"the test server did not start: {log[-3000:]}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> None:
    """Run one of the commands."""
    parser = argparse.ArgumentParser(prog="python -m tests.elasticsearch.server")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("prepare").add_argument("product", nargs="?", default=ELASTICSEARCH.name)
    commands.add_parser("run").add_argument("product", nargs="?", default=ELASTICSEARCH.name)
    supervised = commands.add_parser("supervise")
    supervised.add_argument("state", type=Path)
    supervised.add_argument("product", choices=PRODUCTS)
    arguments = parser.parse_args()
    try:
        if arguments.command == "prepare":
            print(PRODUCTS[arguments.product].prepare())
        elif arguments.command == "supervise":
            supervise(arguments.state, PRODUCTS[arguments.product])
        else:
            _run_until_interrupted(PRODUCTS[arguments.product])
    except (ServerError, DistributionError, JdkError, MavenError) as error:
        sys.exit(str(error))


def _run_until_interrupted(product: Product) -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with node(product) as address:
            print(address, flush=True)
            signal.pause()
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
