"""An Elasticsearch with three nodes, one of which is killed: answers are exact, or an error."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.base import open_engine
from nwx.errors import EngineError
from nwx.model import IndexName
from nwx.query.question import Question
from nwx.settings import ServerSettings, Settings
from tests.cli.conftest import COMMAND, environment, run_nwx
from tests.elasticsearch.nodes import Cluster, Node, three_nodes
from tests.warcs import many_pages, write_warc
from webapp import create_app

pytestmark = pytest.mark.xdist_group("nodes")

COPIED: dict[str, Any] = {
    "NWX_PREFIX": "copied",
    "NWX_SHARDS": "2",
    "NWX_REPLICAS": "1",
    "NWX_TIMEOUT": "120",
}
SINGLE: dict[str, Any] = {
    "NWX_PREFIX": "single",
    "NWX_SHARDS": "3",
    "NWX_REPLICAS": "0",
    "NWX_TIMEOUT": "120",
}
COMPARED = ("documents", "dates", "captures")
JOINED = Question("page", date_from="2011", date_to="2099", limit=5)
FACETS = ("facets", "--by", "year,type", "--json")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with three_nodes() as nodes:
        yield nodes


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("warcs")
    return [
        write_warc(folder / f"{number}.warc.gz", many_pages(120, start=number * 60))
        for number in range(6)
    ]


@pytest.fixture(scope="module")
def folder(files: list[Path], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same archive in a folder, without a server."""
    archive = str(tmp_path_factory.mktemp("folder") / "archive")
    run_nwx(archive, "import", *files)
    run_nwx(archive, "build-facets", "--min-captures", 1)
    return archive


@pytest.fixture(scope="module")
def single(cluster: Cluster, files: list[Path]) -> str:
    """An archive without replicas, whose shards are lost with their node."""
    run_nwx(cluster.address, "import", "--bulk", *files[:1], **SINGLE)
    return cluster.address


@pytest.fixture(scope="module")
def copied(cluster: Cluster, files: list[Path]) -> str:
    """An archive with a replica of each shard."""
    run_nwx(cluster.address, "import", *files, **COPIED)
    return cluster.address


def settings(address: str, prefix: str, **more: Any) -> Settings:
    return Settings(address, ServerSettings(prefix=prefix, timeout_seconds=60, **more))


def dumped(engine: str, **more: Any) -> dict[str, list[Any]]:
    return {index: run_nwx(engine, "dump", index, **more).json_lines for index in COMPARED}


def start(address: str, *arguments: object, **more: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [COMMAND, *map(str, arguments)],
        env=environment(address, **more),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def finished(process: "subprocess.Popen[bytes]") -> int:
    """Wait for the end of a command, and show its error if it fails."""
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0 or b"nwx: " in err
    assert b"Traceback" not in err
    return process.returncode


class Searches:
    """Searches with the join of dates, run sequentially in a thread."""

    def __init__(self, asked: Settings, question: Question) -> None:
        self.totals: list[int] = []
        self.errors: list[EngineError] = []
        self._asked, self._question = asked, question
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        with open_engine(self._asked, read_only=True) as engine:
            while not self._over.is_set():
                try:
                    self.totals.append(engine.search(self._question).documents.value)
                except EngineError as error:
                    self.errors.append(error)
                time.sleep(0.02)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._over.set()
            self._thread.join()


@contextmanager
def killed(cluster: Cluster, node: Node) -> Iterator[None]:
    """Kill a node during the block, and restart it at the end."""
    node.kill()
    try:
        yield
    finally:
        node.start()
        cluster.wait()


def test_an_import_loses_nothing_when_a_node_is_killed(
    cluster: Cluster, files: list[Path], folder: str
) -> None:
    run_nwx(cluster.address, "import", files[0], **COPIED)
    process = start(cluster.address, "import", "--jobs", 1, *files, **COPIED)
    with open_engine(settings(cluster.address, "copied"), read_only=True) as engine:
        known = len(engine.files())
        while len(engine.files()) == known and process.poll() is None:
            time.sleep(0.05)
    with killed(cluster, cluster.holder("copied-captures")):
        ended = finished(process)
        run_nwx(cluster.address, "import", *files, **COPIED)
    assert ended in (0, 1)
    assert dumped(cluster.address, **COPIED) == dumped(folder)
    run_nwx(cluster.address, "check", **COPIED)


def test_answers_stay_exact_when_a_node_is_killed(
    cluster: Cluster, copied: str, folder: str
) -> None:
    with open_engine(Settings(folder), read_only=True) as engine:
        expected = engine.search(JOINED).documents.value
    assert expected
    told = run_nwx(folder, *FACETS).json
    searches = Searches(settings(cluster.address, "copied"), JOINED)
    with searches.going_on():
        building = start(cluster.address, "build-facets", "--min-captures", 1, **COPIED)
        time.sleep(1)
        with killed(cluster, cluster.holder("copied-captures")):
            if finished(building):
                run_nwx(cluster.address, "build-facets", "--min-captures", 1, **COPIED)
            assert run_nwx(cluster.address, *FACETS, **COPIED).json["rows"] == told["rows"]
            health = run_nwx(cluster.address, "stats", "--json", **COPIED).json["shards"]
            assert health["captures"]["status"] in ("yellow", "green")
            assert health["captures"]["lost"] == []
    assert set(searches.totals) == {expected}
    assert len(searches.totals) > len(searches.errors)


def test_searches_go_on_while_an_index_gets_other_shards(
    cluster: Cluster, copied: str, folder: str
) -> None:
    before = dumped(folder)
    with open_engine(Settings(folder), read_only=True) as engine:
        expected = engine.search(JOINED).documents.value
    searches = Searches(settings(cluster.address, "copied"), JOINED)
    with searches.going_on():
        for index in ("documents", "dates"):
            told = run_nwx(cluster.address, "reshard", index, "--shards", 4, "--json", **COPIED)
            assert told.json == {"index": index, "shards": 4, "how": "split"}
        told = run_nwx(cluster.address, "reshard", "documents", "--shards", 3, "--json", **COPIED)
        assert told.json["how"] == "copied"
    assert searches.errors == []
    assert set(searches.totals) == {expected}
    assert dumped(cluster.address, **COPIED) == before
    wrong = run_nwx(cluster.address, "reshard", "dates", "--shards", 4, code=2, **COPIED)
    assert "already has 4 shards" in wrong.err


def test_a_reshard_that_was_killed_is_undone_or_run_again(
    cluster: Cluster, copied: str, folder: str
) -> None:
    asked = settings(cluster.address, "copied")
    with open_engine(asked) as engine:
        name = engine.shards().health()[IndexName.CAPTURES].name
        server = engine._server  # type: ignore[attr-defined]
        server.request("PUT", f"/{name}/_settings", {"index.blocks.write": True})
        server.request("PUT", "/copied-captures-000002", {})
    check = run_nwx(cluster.address, "check", code=1, **COPIED)
    assert "it blocks writes" in check.out
    run_nwx(cluster.address, "reshard", "captures", "--undo", **COPIED)
    run_nwx(cluster.address, "check", **COPIED)
    run_nwx(cluster.address, "reshard", "captures", "--shards", 4, **COPIED)
    assert dumped(cluster.address, **COPIED) == dumped(folder)


def bulk_settings(cluster: Cluster) -> list[str]:
    found = cluster.get("/copied-documents,copied-captures,copied-dates/_settings")
    indices = [one["settings"]["index"] for one in found.values()]
    return sorted(f"{one['number_of_replicas']} {one.get('refresh_interval')}" for one in indices)


def test_settings_for_bulk_loading_are_put_back_when_an_import_is_killed(
    cluster: Cluster, copied: str, tmp_path: Path
) -> None:
    more = write_warc(tmp_path / "more.warc.gz", many_pages(700, site="more.example"))
    usual = ["1 None"] * 3
    assert bulk_settings(cluster) == usual
    process = start(cluster.address, "import", "--bulk", "--jobs", 1, more, **COPIED)
    while bulk_settings(cluster) != ["0 -1"] * 3 and process.poll() is None:
        time.sleep(0.05)
    with open_engine(settings(cluster.address, "copied")) as engine:
        (loader,) = engine.shards().loaders()
        assert f"process {process.pid}" in loader
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    end = time.monotonic() + 60
    while bulk_settings(cluster) != usual and time.monotonic() < end:
        time.sleep(0.1)
    assert bulk_settings(cluster) == usual
    run_nwx(cluster.address, "import", "--bulk", "--quiet", more, **COPIED)
    assert bulk_settings(cluster) == usual
    run_nwx(cluster.address, "check", "--end-loading", **COPIED)


@pytest.fixture(scope="module")
def without_node(cluster: Cluster, single: str) -> Node:
    """A node with documents that stays down, as the last tests need this."""
    node = cluster.holder("single-documents")
    node.kill()
    cluster.wait(nodes=2, status="red")
    return node


def test_lost_shards_are_told(cluster: Cluster, without_node: Node) -> None:
    stats = run_nwx(cluster.address, "stats", "--json", code=1, **SINGLE)
    documents = stats.json["shards"]["documents"]
    assert (documents["status"], documents["shards"]) == ("red", 3)
    assert documents["lost"]
    assert stats.json["documents"] is None
    assert stats.json["shards"]["loading"]["name"] == "single-loading-000001"
    assert stats.json["bytes"]["documents"] is None
    assert "of documents lost" in stats.err
    check = run_nwx(cluster.address, "check", code=1, **SINGLE)
    assert f"single-documents-000001[{documents['lost'][0]}]: no node holds this shard" in check.out
    assert "the indices could not be compared" in check.out


@pytest.mark.parametrize(
    "ask",
    [
        ("search", "page"),
        ("search", "--scroll", "page"),
        ("dump", "documents"),
        ("words", "page"),
        ("trends", "page"),
    ],
)
def test_less_than_the_whole_is_refused(
    cluster: Cluster, without_node: Node, ask: Sequence[str]
) -> None:
    ran = run_nwx(cluster.address, *ask, code=1, **SINGLE)
    assert ran.out == ""
    assert "shards" in ran.err


def test_partial_answers_say_so(cluster: Cluster, single: str, without_node: Node) -> None:
    ran = run_nwx(cluster.address, "--partial", "search", "page", "--json", **SINGLE)
    assert ran.json["lacking"]["shards"] == 3
    assert ran.json["total"]["relation"] == "gte"
    assert "shards did not answer: the results are incomplete" in ran.err
    with open_engine(settings(single, "single", partial=True), read_only=True) as engine:
        page = create_app(engine).test_client().get("/search?q=page")
    assert "The results are incomplete" in page.text
    with open_engine(settings(single, "single"), read_only=True) as engine:
        assert create_app(engine).test_client().get("/search?q=page").status_code == 503
