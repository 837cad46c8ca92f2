"""The server's files: downloaded, unpacked, and given the token filter that it lacks."""

import json
import shutil
import subprocess
import tempfile
import zipfile
from pathlib import Path

from tests.elasticsearch.jdk import find_jdk

VERSION = "9.2.0"
CACHE = Path(__file__).parent.parent.parent / ".cache" / "elasticsearch"
PLUGIN_SOURCE = Path(__file__).parent / "plugin" / "AsciiFolding.java"
_ARTIFACT = f"org.elasticsearch.distribution.integ-test-zip:elasticsearch:{VERSION}:zip"
_ZIP = f"elasticsearch-{VERSION}.zip"


class DistributionError(Exception):
    """A server that could not be downloaded or put together."""


def prepare(cache: Path = CACHE) -> Path:
    """Return the folder of a server that is ready to run, made below `cache` if missing."""
    home = cache / f"elasticsearch-{VERSION}"
    if (home / "plugins" / "nwx-analysis" / "plugin.jar").exists():
        return home
    cache.mkdir(parents=True, exist_ok=True)
    if not (cache / _ZIP).exists():
        _download(cache)
    with tempfile.TemporaryDirectory(dir=cache) as new:
        fresh = _unpack(cache / _ZIP, Path(new))
        _add_plugin(fresh)
        shutil.rmtree(home, ignore_errors=True)
        fresh.rename(home)
    return home


def _download(cache: Path) -> None:
    if shutil.which("mvn") is None:
        raise DistributionError(
            "the test server is downloaded by Maven, and there is no mvn; install it, or name "
            "a running server in NWX_TEST_ELASTICSEARCH"
        )
    with tempfile.TemporaryDirectory(dir=cache) as new:
        _run(
            "mvn",
            "-q",
            "-B",
            "dependency:copy",
            f"-Dartifact={_ARTIFACT}",
            f"-DoutputDirectory={new}",
        )
        (Path(new) / _ZIP).rename(cache / _ZIP)


def _unpack(archive: Path, folder: Path) -> Path:
    with zipfile.ZipFile(archive) as files:
        files.extractall(folder)
    home = folder / f"elasticsearch-{VERSION}"
    # zipfile leaves modes out; the server may run as another user than the one who unpacks
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    return home


def _add_plugin(home: Path) -> None:
    plugin = home / "plugins" / "nwx-analysis"
    plugin.mkdir(mode=0o755, parents=True)
    with tempfile.TemporaryDirectory() as classes:
        javac = str(find_jdk() / "bin" / "javac")
        _run(
            javac,
            "--release",
            "21",
            "-proc:none",
            "-cp",
            f"{home}/lib/*",
            "-d",
            classes,
            str(PLUGIN_SOURCE),
        )
        with zipfile.ZipFile(plugin / "plugin.jar", "w") as jar:
            jar.write(Path(classes) / "nwx" / "AsciiFolding.class", "nwx/AsciiFolding.class")
    components = {
        "org.elasticsearch.plugin.analysis.TokenFilterFactory": {"asciifolding": "nwx.AsciiFolding"}
    }
    (plugin / "named_components.json").write_text(json.dumps(components), encoding="utf-8")
    (plugin / "stable-plugin-descriptor.properties").write_text(
        "name=nwx-analysis\ndescription=the token filter asciifolding\nversion=1\n"
        f"elasticsearch.version={VERSION}\njava.version=21\n",
        encoding="utf-8",
    )


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DistributionError(
            f"{' '.join(command[:3])}… ended with {done.returncode}: "
            f"{(done.stderr or done.stdout).strip()[-2000:]}"
        )
