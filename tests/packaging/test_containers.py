"""compose.yaml and the Dockerfile match the project; the entry point start.sh runs its steps.

No containers are run: neither file is passed to Docker.
"""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.cli.conftest import COMMAND, run_nwx

ROOT = Path(__file__).parent.parent.parent
START = ROOT / "docker" / "start.sh"

# Replaces `nwx serve`; every other command is the real one.
_NWX = f"""#!/bin/sh
echo "$*" >> "$CALLS"
[ "$1" = "${{KILLED:-}}" ] && exit 143
[ "$1" = serve ] || [ "$1" = kibana ] || exec {COMMAND} "$@"
[ "$1" = serve ]
"""


@pytest.fixture
def start(tmp_path: Path) -> "Start":
    return Start(tmp_path)


class Start:
    """Runs start.sh as in the image, with a folder for /warcs."""

    def __init__(self, folder: Path) -> None:
        self.archive, self.warcs = folder / "archive", folder / "warcs"
        self._calls = folder / "calls"
        self.warcs.mkdir()
        self._bin = folder / "bin"
        self._bin.mkdir()
        nwx = self._bin / "nwx"
        nwx.write_text(_NWX)
        nwx.chmod(0o755)

    def __call__(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", START, *arguments],
            env={
                "PATH": f"{self._bin}{os.pathsep}{os.environ['PATH']}",
                "NWX_ENGINE": str(self.archive),
                "NWX_WARCS": str(self.warcs),
                "CALLS": str(self._calls),
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        return [line.split()[0] for line in self._calls.read_text().splitlines()]


def add_sample(start: Start) -> None:
    name = "LANTERN-2008-00000.arc.gz"
    (start.warcs / name).write_bytes((ROOT / "sample" / "archive" / name).read_bytes())


def test_three_services_that_are_started_again() -> None:
    text = (ROOT / "compose.yaml").read_text()
    assert "NOT run in the tests" in text.split("\nname:")[0]
    found = yaml.safe_load(text)
    services = found["services"]
    usual = {"elasticsearch", "kibana", "nwx"}
    assert {name for name, one in services.items() if "profiles" not in one} == usual
    others = {"opensearch", "dashboards", "nwx-opensearch"}
    assert {
        name for name, one in services.items() if one.get("profiles") == ["opensearch"]
    } == others
    assert {service["restart"] for service in services.values()} == {"unless-stopped"}
    for name in ("elasticsearch", "kibana"):
        assert services[name]["image"].startswith(f"docker.elastic.co/{name}/{name}:")
    versions = {services[name]["image"].partition(":")[2] for name in ("elasticsearch", "kibana")}
    assert len(versions) == 1
    published = [port for service in services.values() for port in service["ports"]]
    assert all(port.startswith("127.0.0.1:") for port in published)
    volumes = [*services["elasticsearch"]["volumes"], *services["opensearch"]["volumes"]]
    assert {volume.partition(":")[0] for volume in volumes} == set(found["volumes"])


def test_the_service_is_set_up_by_what_start_reads() -> None:
    service = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]["nwx"]
    script = START.read_text()
    assert "NWX_KIBANA" in service["environment"]
    assert "${NWX_KIBANA:-}" in script
    assert service["volumes"][0].endswith(":/warcs:ro")
    assert "${NWX_WARCS:-/warcs}" in script


def copied() -> list[str]:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    return [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]


def test_the_image_copies_what_is_there_and_what_docker_is_sent() -> None:
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines.count("*") == 1
    assert {line[1:] for line in lines if line.startswith("!")} == set(copied())
    assert all((ROOT / name).exists() for name in copied())


def test_files_are_imported_and_served(start: Start) -> None:
    add_sample(start)
    ran = start()
    assert ran.returncode == 0
    assert start.calls == ["import", "build-facets", "serve"]
    assert "56 captures" in ran.stdout
    assert "start:" not in ran.stderr


def test_a_broken_file_is_reported_and_the_rest_goes_on(start: Start) -> None:
    add_sample(start)
    (start.warcs / "broken.warc.gz").write_bytes(b"no gzip at all")
    ran = start(NWX_KIBANA="http://127.0.0.1:1")
    assert ran.returncode == 0
    assert start.calls == ["import", "build-facets", "kibana", "serve"]
    assert "start: the import ended with errors" in ran.stderr
    assert "broken.warc.gz" in ran.stderr
    assert "start: Kibana did not get the dashboard" in ran.stderr
    assert run_nwx(start.archive, "search", "lantern", "--limit", 1).out


def test_without_files_it_says_how_to_fill_the_archive(start: Start) -> None:
    ran = start()
    assert ran.returncode == 0
    assert start.calls == ["serve"]
    assert "serve --create --host 0.0.0.0" in (start.archive.parent / "calls").read_text()
    assert f"no archive files in {start.warcs}" in ran.stderr
    assert "nwx import FILES" in ran.stderr


def test_a_signal_ends_the_chain(start: Start) -> None:
    add_sample(start)
    assert start(KILLED="import").returncode == 143
    assert start.calls == ["import"]


def test_arguments_are_a_command(start: Start) -> None:
    ran = start("--version")
    assert ran.stdout.startswith("nwx ")
    assert start.calls == ["--version"]
