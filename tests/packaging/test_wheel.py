"""The wheel works when installed in a separate environment."""

import json
import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

from tests.environments import new_environment

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    (made,) = folder.glob("nwx-*.whl")
    return made


@pytest.fixture(scope="module")
def nwx(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    environment = tmp_path_factory.mktemp("environment") / "new"
    new_environment(environment, str(wheel))
    return environment / "bin" / "nwx"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "NWX_"))}
    done = subprocess.run(
        command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_carries_mappings_pages_and_licence(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert any(name.endswith("mappings_data/documents.json") for name in names)
    assert any(name.startswith("webapp/templates/") for name in names)
    assert any(name.startswith("webapp/static/") for name in names)
    compiled = {name for name in names if name.endswith("/LC_MESSAGES/messages.mo")}
    assert {name.split("/")[2] for name in compiled} == {"de", "es", "fr"}
    assert any(name.endswith("LICENSE") for name in names)
    assert not any(name.startswith("tests/") for name in names)


def test_it_imports_searches_and_serves(nwx: Path, tmp_path: Path) -> None:
    sample = ROOT / "sample" / "archive"
    report = json.loads(run(nwx, "import", "--json", sample, cwd=tmp_path))
    assert report["documents"] > 0
    found = json.loads(run(nwx, "search", "lantern", "--json", cwd=tmp_path))
    assert found["total"]["value"] > 0
    with subprocess.Popen(
        [nwx, "serve", "--port", "0"], cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout
            address = re.search(r"http://\S+", server.stdout.readline())
            assert address
            with urllib.request.urlopen(f"{address[0]}?q=lantern", timeout=30) as page:
                assert found["hits"][0]["title"] in page.read().decode()
        finally:
            server.terminate()
