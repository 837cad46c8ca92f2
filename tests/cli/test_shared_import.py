"""Several imports of one manifest into one server, some of them killed."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.model import IndexName
from nwx.settings import ServerSettings, Settings
from tests.cli.conftest import environment, run_nwx
from tests.warcs import many_pages, write_warc

INDICES = (IndexName.DOCUMENTS, IndexName.DATES, IndexName.CAPTURES, IndexName.FILES)
FILES, PAGES, IMPORTERS, KILLED = 18, 20, 6, 3
LEASE_SECONDS = 4

# Each as if on a separate machine, so that none sees whether the others' processes run.
PROGRAM = """
import sys, time
from nwx.cli.main import main
from nwx.importing import file_queue
machine, hours = sys.argv.pop(1), int(sys.argv.pop(1))
file_queue._machine = lambda: machine
true_time = time.time
time.time = lambda: true_time() + 3600 * hours
main()
"""


@pytest.fixture(scope="module")
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A list of files that share pages."""
    folder = tmp_path_factory.mktemp("warcs")
    files = [
        write_warc(folder / f"{number:02}.warc.gz", many_pages(PAGES, start=number * 20))
        for number in range(FILES)
    ]
    manifest = folder / "manifest.txt"
    manifest.write_text("".join(f"{file}\n" for file in files), encoding="utf-8")
    return manifest


@contextmanager
def opened(address: str, prefix: str) -> Iterator[Engine]:
    with open_engine(Settings(address, ServerSettings(prefix=prefix))) as engine:
        yield engine


def start(
    address: str, prefix: str, manifest: Path, machine: int, hours: int
) -> "subprocess.Popen[bytes]":
    """Start an importer on a machine whose clock is `hours` hours off."""
    program = [sys.executable, "-c", PROGRAM, str(machine), str(hours)]
    options = ["--manifest", str(manifest), "--jobs", "1", "--lease", str(LEASE_SECONDS), "--json"]
    return subprocess.Popen(
        [*program, "import", *options],
        env=environment(address, NWX_PREFIX=prefix),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kill_with_a_file(engine: Engine, victims: "list[subprocess.Popen[bytes]]") -> None:
    """Kill each of several importers while it imports a file."""
    claims, left = engine.claims(), {str(victim.pid): victim for victim in victims}
    assert claims is not None
    while left:
        assert all(victim.poll() is None for victim in left.values()), "it ended too early"
        for row in claims.held():
            assert row.claim is not None
            if victim := left.pop(row.claim.holder.split("/")[1], None):
                victim.kill()
        time.sleep(0.02)


def test_six_importers_of_whom_three_are_killed_do_what_one_does(
    elasticsearch_url: str, elasticsearch_prefix: str, manifest: Path
) -> None:
    alone, shared = (f"{elasticsearch_prefix}-{name}" for name in ("alone", "shared"))
    run_nwx(elasticsearch_url, "import", "--manifest", manifest, NWX_PREFIX=alone)
    with opened(elasticsearch_url, alone) as one, opened(elasticsearch_url, shared) as engine:
        engine.create()
        importers = [
            start(elasticsearch_url, shared, manifest, number, int(number == KILLED))
            for number in range(IMPORTERS)
        ]
        kill_with_a_file(engine, importers[:KILLED])
        outputs = [importer.communicate(timeout=240) for importer in importers]
        assert [importer.returncode for importer in importers] == [-9] * KILLED + [0] * 3, outputs
        engine.refresh()
        for index in INDICES:
            assert list(engine.scan(index)) == list(one.scan(index))
        claims = engine.claims()
        assert claims is not None
        assert claims.held() == []
    reports = [json.loads(out) for out, _ in outputs[KILLED:]]
    for report in reports:
        assert sum(report["outcomes"].values()) == FILES
        assert set(report["outcomes"]) <= {"imported", "by others"}
    assert sum(report["outcomes"].get("imported", 0) for report in reports) <= FILES
    assert sum(report["captures"] for report in reports) <= FILES * PAGES * 4 // 3
