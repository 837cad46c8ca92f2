"""Files from Maven Central, downloaded by a single run of Maven."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from xml.sax.saxutils import escape

_SHORT_RUN = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""With little compilation, Java takes half the CPU time."""


class MavenError(Exception):
    """Files that cannot be downloaded."""


def bring(folder: Path, *artifacts: str) -> None:
    """Copy artifacts, `group:name:version` or `group:name:version:type`, into a folder."""
    dependencies = "".join(map(_dependency, artifacts))
    with tempfile.TemporaryDirectory() as made:
        pom = Path(made) / "pom.xml"
        pom.write_text(
            "<project><modelVersion>4.0.0</modelVersion><groupId>nwx</groupId>"
            "<artifactId>files-for-tests</artifactId><version>1</version><packaging>pom</packaging>"
            f"<dependencies>{dependencies}</dependencies></project>",
            encoding="utf-8",
        )
        bring_dependencies(folder, pom)


def bring_dependencies(folder: Path, pom: Path) -> None:
    """Copy all dependencies of a project into a folder."""
    if shutil.which("mvn") is None:
        raise MavenError(
            "test servers are brought by Maven, and there is no mvn; install it, or name running "
            "ones in NWX_TEST_ELASTICSEARCH and NWX_TEST_OPENSEARCH"
        )
    done = subprocess.run(
        [
            "mvn",
            "-q",
            "-B",
            "-f",
            pom,
            "dependency:copy-dependencies",
            f"-DoutputDirectory={folder}",
        ],
        env={"MAVEN_OPTS": _SHORT_RUN} | os.environ,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise MavenError(
            f"mvn ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-2000:]}"
        )


def _dependency(artifact: str) -> str:
    group, name, version, *kind = artifact.split(":")
    parts = {
        "groupId": group,
        "artifactId": name,
        "version": version,
        "type": "".join(kind) or "jar",
    }
    given = "".join(f"<{part}>{escape(value)}</{part}>" for part, value in parts.items())
    alone = "<exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion>"
    return f"<dependency>{given}<exclusions>{alone}</exclusions></dependency>"
