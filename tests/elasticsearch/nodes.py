"""A real Elasticsearch with three nodes, which tests kill and restart."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.elasticsearch.distribution import prepare
from tests.elasticsearch.jdk import find_jdk
from tests.elasticsearch.server import START_SECONDS, ServerError, end_with_parent, readable_by_all

NODES = 3
HEAP = "512m"
_CONFIGURATION = """\
cluster.name: nwx-three-nodes
node.name: {name}
network.host: 127.0.0.1
http.port: {http}
transport.port: {transport}
discovery.seed_hosts: [{seeds}]
cluster.initial_master_nodes: [{names}]
path.data: {folder}/data
path.logs: {folder}/logs
xpack.security.enabled: false
node.processors: 2
cluster.routing.allocation.disk.threshold_enabled: false
action.auto_create_index: false
"""


class Node:
    """A node; its files remain after its process is killed."""

    def __init__(self, name: str, home: Path, folder: Path, http: int) -> None:
        self.name = name
        self.address = f"http://127.0.0.1:{http}"
        self._home, self._folder = home, folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the node; it joins the cluster some seconds later."""
        environment = {"ES_JAVA_HOME": str(find_jdk()), "ES_PATH_CONF": f"{self._folder}/config"}
        options = f"-Xms{HEAP} -Xmx{HEAP} -XX:TieredStopAtLevel=1"
        environment |= {"ES_TMPDIR": f"{self._folder}/tmp", "ES_JAVA_OPTS": options}
        with (self._folder / "console.log").open("ab") as log:
            self._process = subprocess.Popen(
                [str(self._home / "bin" / "elasticsearch")],
                cwd=self._folder,
                env=os.environ | environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user="nobody" if os.geteuid() == 0 else None,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def kill(self) -> None:
        """Kill the process like a power failure."""
        if self._process is not None:
            with suppress(ProcessLookupError):  # it has already ended
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def has_ended(self) -> bool:
        """Return whether the process ended without being killed."""
        return self._process is not None and self._process.poll() is not None

    def log(self) -> str:
        """Return the end of the node's output."""
        return (self._folder / "console.log").read_text("utf-8", "replace")[-3000:]


class Cluster:
    """The nodes; the first one is never killed, so that it can always be queried."""

    def __init__(self, nodes: list[Node]) -> None:
        self.nodes = nodes
        self.address = nodes[0].address

    def get(self, path: str) -> Any:
        """Return the answer of the first node to a GET request."""
        with urllib.request.urlopen(f"{self.address}{path}", timeout=60) as answer:
            return json.load(answer)

    def wait(self, nodes: int = NODES, status: str = "green") -> None:
        """Wait until there are `nodes` nodes, and shards are allocated according to `status`."""
        path = f"/_cluster/health?wait_for_nodes={nodes}&wait_for_status={status}&timeout=5s"
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            for node in self.nodes:
                if node.has_ended():
                    raise ServerError(f"{node.name} ended: {node.log()}")
            try:
                self.get(path)
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise ServerError(f"the cluster is not {status}: {self.nodes[0].log()}")

    def holder(self, index: str) -> Node:
        """Return a node, not the first, that has a primary shard of an index.

        If only the first has one, after kills of others, a replica is promoted.
        """
        for _ in range(2):
            copies = self.get(f"/_cat/shards/{index}?format=json&h=index,shard,node,prirep")
            primaries = [copy for copy in copies if copy["prirep"] == "p"]
            for node in self.nodes[1:]:
                if any(copy["node"] == node.name for copy in primaries):
                    return node
            self._hand_over(primaries[0])
        raise ServerError(f"only the first node holds shards of {index}")

    def _hand_over(self, primary: dict[str, str]) -> None:
        place = {"index": primary["index"], "shard": int(primary["shard"]), "node": primary["node"]}
        commands = {"commands": [{"cancel": place | {"allow_primary": True}}]}
        request = urllib.request.Request(
            f"{self.address}/_cluster/reroute",
            json.dumps(commands).encode(),
            {"Content-Type": "application/json"},
        )
        urllib.request.urlopen(request, timeout=60).close()
        self.wait()


@contextmanager
def three_nodes() -> Iterator[Cluster]:
    """Yield a cluster of three nodes that ends with this process."""
    home = prepare()
    folder = Path(tempfile.mkdtemp(prefix="nwx-elasticsearch-nodes-"))
    nodes: list[Node] = []
    try:
        if os.geteuid() == 0:
            folder.chmod(0o755)
            home = readable_by_all(home, folder)
        nodes = _nodes(home, folder)
        for node in nodes:
            node.start()
        cluster = Cluster(nodes)
        cluster.wait()
        yield cluster
    finally:
        for node in nodes:
            node.kill()
        shutil.rmtree(folder, ignore_errors=True)


def _nodes(home: Path, folder: Path) -> list[Node]:
    names = [f"node-{number}" for number in range(1, NODES + 1)]
    ports = _free_ports(2 * NODES)
    http, transport = ports[:NODES], ports[NODES:]
    seeds = ", ".join(f'"127.0.0.1:{port}"' for port in transport)
    nodes = []
    for name, port, inner in zip(names, http, transport, strict=True):
        own = folder / name
        text = _CONFIGURATION.format(
            name=name,
            http=port,
            transport=inner,
            seeds=seeds,
            names=", ".join(names),
            folder=own,
        )
        _write_files(home, own, text)
        nodes.append(Node(name, home, own, port))
    return nodes


def _write_files(home: Path, folder: Path, configuration: str) -> None:
    for name in ("data", "logs", "tmp"):
        (folder / name).mkdir(parents=True)
    shutil.copytree(home / "config", folder / "config")
    options = folder / "config" / "jvm.options"
    kept = [line for line in options.read_text().splitlines() if "-Xlog:gc" not in line]
    options.write_text("\n".join(kept) + "\n")
    (folder / "config" / "elasticsearch.yml").write_text(configuration, encoding="utf-8")
    if os.geteuid() == 0:
        for path in [folder, *folder.rglob("*")]:
            shutil.chown(path, "nobody")


def _free_ports(number: int) -> list[int]:
    """Return free ports that other programs are unlikely to be assigned while the nodes start."""
    found: list[int] = []
    while len(found) < number:
        port = random.randrange(15_000, 30_000)  # below the ephemeral port range
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            found += [port] if port not in found else []
    return found
