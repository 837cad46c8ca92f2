"""Servers from Maven Central: downloaded and unpacked, with compiled plugins."""

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from zlib import crc32

from tests.maven import bring

CACHE = Path(__file__).parent.parent.parent / ".cache"
PLUGIN = "plugins/nwx-analysis/plugin.jar"


class DistributionError(Exception):
    """A server that could not be downloaded or assembled."""


def prepared(
    cache: Path,
    artifact: str,
    plugin: Path,
    add_plugin: Callable[[Path, Path], None],
    parts: Sequence[str] = (),
    last: str = PLUGIN,
) -> Path:
    """Return the folder of a server with its plugin, created below `cache` if missing.

    `add_plugin` takes the folder of the server and that of the parts, artifacts like the server.
    `last` is a file that exists once the folder is complete. A `plugin` with other source text gets
    a separate folder.
    """
    _, name, version, _ = artifact.split(":")
    home = cache / f"{name}-{version}-{crc32(plugin.read_bytes()):08x}"
    if (home / last).exists():
        return home
    brought = cache / f"{name}-{version}-files"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as new:
        if not brought.exists():
            bring(Path(new) / "files", artifact, *parts)
            (Path(new) / "files").rename(brought)
        fresh = _unpack(brought / f"{name}-{version}.zip", Path(new) / f"{name}-{version}")
        add_plugin(fresh, brought)
        shutil.rmtree(home, ignore_errors=True)
        fresh.rename(home)
    return home


def _unpack(archive: Path, home: Path) -> Path:
    with zipfile.ZipFile(archive) as files:
        files.extractall(home.parent)
    # zipfile drops file modes, and the server may run as another user
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() or path.parent.name == "bin" else 0o644)
    return home


def add_jar(home: Path, jdk: Path, release: int, source: Path) -> Path:
    """Compile a plugin against a server's libraries and install it; return its folder."""
    plugin = home / "plugins" / "nwx-analysis"
    plugin.mkdir(mode=0o755, parents=True)
    with tempfile.TemporaryDirectory() as classes:
        javac = str(jdk / "bin" / "javac")
        options = [
            "-J-XX:TieredStopAtLevel=1",
            "--release",
            str(release),
            "-proc:none",
            "-cp",
            f"{home}/lib/*",
            "-d",
            classes,
        ]
        run(javac, *options, str(source))
        with zipfile.ZipFile(plugin / "plugin.jar", "w") as jar:
            for found in sorted(Path(classes).rglob("*.class")):
                jar.write(found, str(found.relative_to(classes)))
    return plugin


def run(*command: str) -> None:
    """Run a command; raise DistributionError if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DistributionError(
            f"{' '.join(command[:3])}… ended with {done.returncode}: "
            f"{(done.stderr or done.stdout).strip()[-2000:]}"
        )
